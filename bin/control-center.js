#!/usr/bin/env node
// The launcher of the control center: finds a fitting Node.js, then runs control-center/start.ts with it.
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { becomeAsProcess1, runWithFittingNode } from './run-with.js'

const start = join(dirname(dirname(fileURLToPath(import.meta.url))), 'control-center', 'start.ts')
// A sandbox process may send signals: none may open a debugger here.
const args = ['--disable-sigusr1', '--disable-warning=ExperimentalWarning', start, ...process.argv.slice(2)]
if (!becomeAsProcess1(args)) runWithFittingNode(args, { stopsWithUs: true })
