import { execFileSync, spawn } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { matchesGlob } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { Worker } from 'node:worker_threads'
import { expect, test } from 'vitest'
import config, { SMOKE } from '../../vitest.config.ts'
import { takeProblem } from '../support/unit-guard.ts'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const files = (readdirSync(`${ROOT}/test`, { recursive: true }) as string[])
  .filter((name) => name.endsWith('.test.ts'))
  .map((name) => `test/${name}`)

type Project = { readonly name: string; readonly include: string | string[]; readonly exclude?: string[] }
const projects = (config.test?.projects ?? []).map((one) => (one as { test: Project }).test)

const ATTEMPTS: readonly [what: string, attempt: () => unknown][] = [
  ['starts a process', () => spawn('true')],
  ['starts a process', () => execFileSync('true')],
  ['starts a server', () => createServer().listen(0, '127.0.0.1')],
  ['starts a thread', () => new Worker('', { eval: true })],
]

test.each(ATTEMPTS)('a unit test that %s fails, even if the code under test catches the error', (what, attempt) => {
  expect(attempt).toThrow(`A unit test ${what}.`)
  expect(takeProblem()).toContain(`A unit test ${what}.`)
})

test('a unit test that waits for the real clock fails; one that clears its timeout passes', async () => {
  await wait(100)
  expect(takeProblem()).toContain('A unit test waits 100 ms.')
  await new Promise((resolve) => setTimeout(resolve, 100))
  expect(takeProblem()).toContain('A unit test waits 100 ms.')
  clearTimeout(setTimeout(() => {}, 100))
  expect(takeProblem()).toBeNull()
})

test('each test file belongs to exactly one project', () => {
  expect(files.length).toBeGreaterThan(300)
  const isIn = ({ include, exclude = [] }: Project, file: string) =>
    [include].flat().some((glob) => matchesGlob(file, glob)) && !exclude.some((glob) => matchesGlob(file, glob))
  const wrong = files
    .map((file) => ({ file, in: projects.filter((one) => isIn(one, file)).map(({ name }) => name) }))
    .filter((one) => one.in.length !== 1)
  expect(wrong).toEqual([])
})

test('a test file may mock modules only if it runs in its own worker; in a shared one, other files may have loaded the real modules', () => {
  const apart = projects.filter(({ name }) => name === 'apart').flatMap(({ include }) => include)
  const replacing = files.filter((file) => /^\s*vi\.(do)?mock\(/im.test(readFileSync(ROOT + file, 'utf8')))
  expect(replacing).toEqual(apart)
})

test('the flows that npm test runs exist', () => {
  expect(SMOKE.filter((file) => !files.includes(file))).toEqual([])
})
