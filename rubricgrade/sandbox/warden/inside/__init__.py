"""What runs in the sandbox: standard library only, sent in as text, so that an image needs nothing but Python 3.11."""
