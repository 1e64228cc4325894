#!/usr/bin/env node
// Runs any script of the project's tools with a suitable Node.js: node bin/with-node.js <script> [arguments]
import { runWithFittingNode } from './run-with.js'

runWithFittingNode(['--disable-warning=ExperimentalWarning', ...process.argv.slice(2)])
