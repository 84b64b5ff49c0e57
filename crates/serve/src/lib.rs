//! What others can mount: a modelled device as a file whose every request takes as long as the model says.
