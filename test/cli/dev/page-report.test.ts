import { expect, test, vi } from 'vitest'
import { createPageReport } from '../../../cli/dev/page-report.ts'
import type { DevReport } from '../../../host/web/frames.ts'

function create() {
  const sent: DevReport[] = []
  return { report: createPageReport((one) => void sent.push(one)), last: () => sent.at(-1) as DevReport, sent }
}

const filesOf = (text: string) => new Map([['globals.js', Buffer.from(text)]])
const finding = (more: object = {}) => ({
  file: 'globals.js',
  line: 2,
  column: 3,
  code: 'script_syntax',
  message: 'bad',
  ...more,
})

test('page report: an error has its location, the lines around it, and advice', () => {
  const { report, last } = create()
  report.saving(filesOf('one\n\ttwo\nthree\nfour\nfive'))
  report.refused({ faults: [finding()], warnings: [] })
  expect(last()).toEqual({
    faults: [
      {
        place: 'globals.js:2:3',
        code: 'script_syntax',
        message: 'bad',
        source: {
          lines: [
            { number: 1, text: 'one' },
            { number: 2, text: ' two' },
            { number: 3, text: 'three' },
            { number: 4, text: 'four' },
          ],
          line: 2,
          caret: 2,
        },
        advice: 'Fix the script here, or just before this position.',
      },
    ],
    warnings: [],
    lines: [],
  })
})

test('page report: malicious texts are limited in number and length, and have no control characters', () => {
  const { report, last } = create()
  report.saving(filesOf(`one\n${'x'.repeat(100_000)}`))
  const long = finding({ message: `\x1b[2J${'m'.repeat(100_000)}`, column: 50_000, file: 'globals.js' })
  report.refused({ faults: Array(500).fill(long), warnings: Array(500).fill(long) })
  for (let index = 0; index < 500; index++) {
    report.logged({ time: 1, level: 'odd', message: `\x1b[2J${'l'.repeat(100_000)}` })
  }
  report.saving(filesOf(`one\n${'x'.repeat(100_000)}`))
  report.refused({ faults: Array(500).fill(long), warnings: Array(500).fill(long) })
  const { faults, warnings, lines } = last()
  expect([faults.length, warnings.length, lines.length]).toEqual([20, 20, 50])
  expect(JSON.stringify(last()).length).toBeLessThan(150_000)
  expect(JSON.stringify(last())).not.toContain('\\u001b')
  expect(faults[0]?.source).toMatchObject({ line: 2, caret: 100 })
  expect(lines[0]?.level).toBe('info')
})

test('page report: script errors stay until the next version is active; that version’s errors are kept', () => {
  vi.useFakeTimers()
  const { report, last, sent } = create()
  const failed = (message: string) =>
    report.logged({ time: 1, level: 'error', code: 'script_error', message, file: 'globals.js', line: 1, column: 1 })
  report.saving(filesOf('old'))
  report.active([])
  failed('old')
  failed('old')
  report.logged({ time: 1, level: 'error', message: 'only said' })
  const before = sent.length
  vi.advanceTimersByTime(100)
  expect(sent.length).toBe(before + 1)
  expect(last().faults.map(({ message }) => message)).toEqual(['old'])
  expect(last().lines.map(({ text }) => text)).toEqual(['old', 'old', 'only said'])
  report.saving(filesOf('new'))
  failed('new')
  report.active([])
  expect(last().faults.map(({ message, source }) => [message, source?.lines[0]?.text])).toEqual([['new', 'new']])
  vi.useRealTimers()
})

test('page report: after a rejected save, a repeated error is still listed once', () => {
  vi.useFakeTimers()
  const { report, last } = create()
  const failed = (message: string) => report.logged({ time: 1, level: 'error', code: 'script_error', message })
  report.saving(filesOf('runs'))
  report.active([])
  failed('one')
  failed('two')
  report.saving(filesOf('refused'))
  report.refused({ faults: [], warnings: [] })
  failed('three')
  failed('three')
  vi.advanceTimersByTime(100)
  expect(last().faults.map(({ message }) => message)).toEqual(['three'])
  vi.useRealTimers()
})
