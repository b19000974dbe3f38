//! The HTTP front: the fence and the wrapper around tiny_http.
