"""Host library of SpecKV."""
