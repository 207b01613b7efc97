"""Copies of arguments that a process reads and writes, return values, and how arguments are used."""

from hlsc.llvm_parse import parse_module
from hlsc.result_arguments import Access, pointer_accesses, return_through_pointer, work_on_copies

HEAD = "define dso_local {type} @k(ptr noundef %in, ptr noundef %n) #0 {{"
BODY = "entry:\n  %x = load volatile i32, ptr %in, align 4\n  {end}\n"


def accesses(body: str) -> dict[str, Access]:
    """Of the parameters p and q."""
    text = f"define void @f(ptr %p, ptr %q, i64 %i, i1 %c) {{\nentry:\n{body}  ret void\n}}\n"
    return pointer_accesses(parse_module(text).functions["f"])


def test_loads_and_stores_are_told_apart() -> None:
    found = accesses("  %x = load i32, ptr %p, align 4\n  store i32 %x, ptr %q, align 4\n")
    assert (found["p"].reads, found["p"].writes, found["p"].end_bytes) == (True, False, 4)
    assert (found["q"].reads, found["q"].writes) == (False, True)


def test_volatile_accesses_are_those_of_streams() -> None:
    found = accesses("  %x = load volatile i32, ptr %p, align 4\n")
    assert not found["p"].reads


def test_a_constant_offset_counts_and_a_computed_one_is_an_index() -> None:
    body = "  %a = getelementptr i8, ptr %p, i64 8\n  %x = load i32, ptr %a, align 4\n"
    body += "  %b = getelementptr i32, ptr %q, i64 %i\n  store i32 %x, ptr %b, align 4\n"
    found = accesses(body)
    assert found["p"].end_bytes == 12 and not found["p"].indexed
    assert found["p"].is_beyond(8) and not found["p"].is_beyond(12)
    assert found["q"].indexed and found["q"].is_beyond(1000)


def test_a_chosen_pointer_may_be_either() -> None:
    found = accesses("  %a = select i1 %c, ptr %p, ptr %q\n  store i32 1, ptr %a, align 4\n")
    assert found["p"].writes and found["q"].writes


def test_a_copy_is_made_at_the_beginning_and_stored_at_each_return() -> None:
    head, body = HEAD.format(type="void"), BODY.format(end="ret void, !dbg !7")
    text = work_on_copies(f"{head}\n{body}}}\n", head, body, {"n": 4})
    assert "ptr noundef %n.argument)" in text
    lines = [line.strip() for line in text.splitlines()]
    assert lines[2:5] == [
        "%n = alloca i32, align 16",
        '%"hlsc.value.n" = load i32, ptr %n.argument, align 1',
        'store i32 %"hlsc.value.n", ptr %n, align 1',
    ]
    assert lines[-4:-1] == [
        "%hlsc.result.0 = load i32, ptr %n, align 1, !dbg !7",
        "store i32 %hlsc.result.0, ptr %n.argument, align 1, !dbg !7",
        "ret void, !dbg !7",
    ]


def test_an_integer_is_returned_through_a_pointer() -> None:
    head, body = HEAD.format(type="noundef signext i16"), BODY.format(end="ret i16 %y, !dbg !7")
    text = return_through_pointer(f"{head}\n{body}}}\n", head, body, 2)
    assert "define dso_local void @k(ptr %ap_return, ptr noundef %in" in text
    assert "store i16 %y, ptr %ap_return, align 1, !dbg !7\n  ret void, !dbg !7\n" in text


def test_a_top_without_arguments_returns_too() -> None:
    head, body = "define dso_local i32 @k() #0 {", "entry:\n  ret i32 1\n"
    assert "void @k(ptr %ap_return) #0 {" in return_through_pointer(f"{head}\n{body}}}\n", head, body, 4)


def test_an_object_is_returned_from_a_copy() -> None:
    """The function may use the object that it returns as a variable."""
    head = "define void @k(ptr dead_on_unwind noalias writable sret(%struct.ap_uint) align 4 %agg.result, ptr %in) {"
    body = BODY.format(end="ret void")
    text = return_through_pointer(f"{head}\n{body}}}\n", head, body, 4)
    assert "define void @k(ptr %ap_return, ptr %in) {" in text
    assert "%agg.result = alloca i32" in text and "store i32 %hlsc.return, ptr %ap_return" in text
