"use strict";
// A page without charts: it is what the server sent.
document.body.dataset.state = "ready";
