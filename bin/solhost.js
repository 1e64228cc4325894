#!/usr/bin/env node
// The launcher: finds a suitable Node.js, then runs cli/entry with it.
import { entry } from './entry.js'
import { heapFlags } from './heap-limit.js'
import { becomeAsProcess1, runWithFittingNode } from './run-with.js'

const flags = process.argv[2] === 'start' ? heapFlags(process.env) : []
// Don't let SIGUSR1 open a debugger, because sandbox processes can send signals.
const args = [
  ...flags,
  '--disable-sigusr1',
  '--disable-warning=ExperimentalWarning',
  entry('cli/entry'),
  ...process.argv.slice(2),
]
if (!becomeAsProcess1(args)) runWithFittingNode(args, { stopsWithUs: true })
