import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { runBuilder } from '../../control-center/pipelines/builder.ts'
import { temporaryFolder } from '../support/cli.ts'

const SECRET = 'a-password-of-a-registry'
const LONGEST = 2000

/** @returns the log lines of a builder that prints this text */
async function logOf(text: string, secrets: readonly string[] = [SECRET]): Promise<string[]> {
  using folder = temporaryFolder({ text })
  const lines: string[] = []
  await runBuilder({
    words: ['cat', 'text'],
    folder: folder.path,
    wayOut: null,
    time: 60_000,
    signal: new AbortController().signal,
    say: (line) => void lines.push(line),
    secrets,
  })
  return lines
}

test('builder log: a secret that spans the end of a truncated line is replaced completely', async () => {
  for (let before = LONGEST - SECRET.length - 1; before <= LONGEST + 1; before++) {
    const [line = ''] = await logOf(`${'x'.repeat(before)}${SECRET}${'y'.repeat(100_000)}`)
    expect(line.length).toBeLessThanOrEqual(LONGEST)
    expect(line).toMatch(/^x+\**y*$/)
  }
})

test('builder log: no part of a secret appears, even if many replacements shorten the line', async () => {
  const [line = ''] = await logOf(`${SECRET.repeat(3000)}\n`)
  expect(line).toMatch(/^\*+$/)
})

test('builder log: if one secret contains another, both are replaced', async () => {
  const lines = await logOf('user:word\nword\n', ['word', 'user:word', ''])
  expect(lines).toEqual(['***', '***'])
})

test('builder log: lines of ordinary length are not truncated', async () => {
  const line = 'z'.repeat(LONGEST)
  expect(await logOf(`one ${SECRET}\r\n${line}\nlast`)).toEqual(['one ***', line, 'last'])
})

test('builder: a run does not wait for a process that the builder left behind with its output', async () => {
  using folder = temporaryFolder({
    'build.sh': 'setsid sh -c "echo \\$\\$ > left; exec sleep 600" & echo built; sleep 0.5',
  })
  const lines: string[] = []
  await runBuilder({
    words: ['sh', 'build.sh'],
    folder: folder.path,
    wayOut: null,
    time: 60_000,
    signal: new AbortController().signal,
    say: (line) => void lines.push(line),
    secrets: [],
  })
  process.kill(Number(readFileSync(join(folder.path, 'left'), 'utf8')))
  expect(lines).toEqual(['built'])
})
