#!/usr/bin/env node
// Stands here before anything is built, so that npm links the command in a fresh clone too.
import '../dist/main.js';
