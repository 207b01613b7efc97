"""What the benches share: bus models, checks, pages, the golden model and the way to a simulator."""
