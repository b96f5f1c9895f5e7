"""One module a version, named after its number. A version that was released is never changed."""
