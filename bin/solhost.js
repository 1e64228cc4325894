#!/usr/bin/env node
// The launcher: finds a fitting Node.js, then runs host/cli.ts with it.
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { runWithFittingNode } from './run-with.js'

const cli = join(dirname(dirname(fileURLToPath(import.meta.url))), 'host', 'cli.ts')
runWithFittingNode(['--disable-warning=ExperimentalWarning', cli, ...process.argv.slice(2)], { stopsWithUs: true })
