#!/usr/bin/env node
// The launcher of the control center: finds a suitable Node.js, then runs control-center/start.ts with it.
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { becomeAsProcess1, runWithFittingNode } from './run-with.js'

const start = join(dirname(dirname(fileURLToPath(import.meta.url))), 'control-center', 'start.ts')
// Sandbox processes can send signals, and SIGUSR1 would open a debugger.
const args = ['--disable-sigusr1', '--disable-warning=ExperimentalWarning', start, ...process.argv.slice(2)]
if (!becomeAsProcess1(args)) runWithFittingNode(args, { stopsWithUs: true })
