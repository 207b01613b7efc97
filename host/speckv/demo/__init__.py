"""The demo: real pages through every backend, a pool and a decode loop, compared with the golden codec."""
