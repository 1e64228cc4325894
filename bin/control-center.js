#!/usr/bin/env node
// The launcher of the control center: finds a suitable Node.js, then runs control-center/start with it.
import { entry } from './entry.js'
import { becomeAsProcess1, runWithFittingNode } from './run-with.js'

// Don't let SIGUSR1 open a debugger, because sandbox processes can send signals.
const args = [
  '--disable-sigusr1',
  '--disable-warning=ExperimentalWarning',
  entry('control-center/start'),
  ...process.argv.slice(2),
]
if (!becomeAsProcess1(args)) runWithFittingNode(args, { stopsWithUs: true })
