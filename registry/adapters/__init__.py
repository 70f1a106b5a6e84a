"""The runtimes that people already use, one module each. An adapter maps an `Outcome` and decides nothing: validation,
permission, fence and deadline stay with the dispatcher. Import the one that is needed.
"""
