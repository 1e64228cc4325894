import { expect, test } from 'vitest'
import { runBuilder } from '../../control-center/pipelines/builder.ts'
import { temporaryFolder } from '../support/cli.ts'

const SECRET = 'a-password-of-a-registry'
const LONGEST = 2000

/** The log lines of a builder that prints this text. */
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

test('builder log: a secret at the place where a line is cut is replaced whole', async () => {
  for (let before = LONGEST - SECRET.length - 1; before <= LONGEST + 1; before++) {
    const [line = ''] = await logOf(`${'x'.repeat(before)}${SECRET}${'y'.repeat(100_000)}`)
    expect(line.length).toBeLessThanOrEqual(LONGEST)
    expect(line).toMatch(/^x+\**y*$/)
  }
})

test('builder log: no part of a secret appears, however many replaced ones make the line shorter', async () => {
  const [line = ''] = await logOf(`${SECRET.repeat(3000)}\n`)
  expect(line).toMatch(/^\*+$/)
})

test('builder log: of two secrets where one contains the other both are replaced', async () => {
  const lines = await logOf('user:word\nword\n', ['word', 'user:word', ''])
  expect(lines).toEqual(['***', '***'])
})

test('builder log: lines of ordinary length are whole', async () => {
  const line = 'z'.repeat(LONGEST)
  expect(await logOf(`one ${SECRET}\r\n${line}\nlast`)).toEqual(['one ***', line, 'last'])
})
