import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { LoginPageAnswer } from '../../../base/protocol/protocol.ts'
import type { PageCheck } from '../../../host/cloud/login/compile-page.ts'
import { createCloudLoginPages } from '../../../host/cloud/login/login-pages.ts'
import type { CloudAnswer } from '../../../host/cloud/login/login-requests.ts'
import { createPageRows } from '../../../host/cloud/login/page-rows.ts'
import { createCloudLoginProblems } from '../../../host/cloud/login/problems.ts'
import { readSettings } from '../../../host/config/settings.ts'
import { openHostDatabase } from '../../../host/database/open.ts'
import type { HostDatabase } from '../../../host/database/tables.ts'

const home = mkdtempSync(join(tmpdir(), 'solhost-pages-'))
let db: HostDatabase
beforeAll(async () => {
  db = await openHostDatabase(readSettings({ PLATFORM_HOME: home }))
})
afterAll(async () => {
  await db.destroy()
  rmSync(home, { recursive: true })
})

type Answer = CloudAnswer<LoginPageAnswer>

const page = (template: string, texts: LoginPageAnswer['texts'] = {}): LoginPageAnswer => ({ template, texts })
const said = (value: LoginPageAnswer, tag: string | null = `"${value.template}"`): Answer => ({
  kind: 'said',
  value,
  tag,
})
const away: Answer = { kind: 'away', why: 'ECONNREFUSED', retryAfter: null }

/** Hosts that share one database; the test sets their clock and the control center's responses. */
function hostsOf(clock = { time: 1_000_000 }, source = 'here') {
  const asked: (string | null)[] = []
  const compiled: string[] = []
  const lines: string[] = []
  let answer: () => Promise<Answer> = async () => away
  let check: (source: string) => PageCheck = (text) => ({
    kind: 'sound',
    template: { parts: [text], selects: [] },
    warnings: [],
  })
  function host(database: HostDatabase = db) {
    const solutionLog = { write: (_: string, { message }: { message: string }) => void lines.push(message) }
    const problems = createCloudLoginProblems({ warn: () => {} }, solutionLog, () => clock.time)
    const pages = createCloudLoginPages({
      requests: {
        async loginPage(_, tag) {
          asked.push(tag)
          return answer()
        },
      },
      async compile(text) {
        compiled.push(text)
        return check(text)
      },
      rows: createPageRows(database),
      problems,
      solutionLog,
      source,
      stopped: new AbortController().signal,
      now: () => clock.time,
    })
    const shown = async (solution: string) => (await pages.of(solution))?.template.parts[0] ?? null
    return { pages, problems, shown }
  }
  return {
    asked,
    compiled,
    lines,
    host,
    answer(next: Answer | (() => Promise<Answer>)) {
      answer = typeof next === 'function' ? next : async () => next
    },
    check(next: typeof check) {
      check = next
    },
  }
}

test('cloud login pages: simultaneous visitors cause one request; after 60 s, the next request sends the ETag', async () => {
  const clock = { time: 1_000_000 }
  const { host, answer, asked, compiled } = hostsOf(clock)
  const { shown, pages } = host()
  answer(said(page('one')))
  expect(await Promise.all([shown('a'), shown('a'), shown('a')])).toEqual(['one', 'one', 'one'])
  clock.time += 59_999
  await shown('a')
  expect(asked).toEqual([null])
  clock.time += 1
  answer({ kind: 'unchanged' })
  expect(await shown('a')).toBe('one')
  await pages.settled()
  expect([asked, compiled]).toEqual([[null, '"one"'], ['one']])
})

test('cloud login pages: a page that one host fetched is read from the database by another, without a request', async () => {
  const clock = { time: 2_000_000 }
  const { host, answer, asked } = hostsOf(clock)
  const [one, two] = [host(), host()]
  answer(said(page('first')))
  expect([await one.shown('b'), await two.shown('b'), asked.length]).toEqual(['first', 'first', 1])
  clock.time += 60_000
  answer(said(page('second')))
  expect([await two.shown('b'), await one.shown('b'), asked.length]).toEqual(['second', 'second', 2])
})

test('cloud login pages: a host that starts while the control center is unreachable shows the stored page', async () => {
  const { host, answer } = hostsOf({ time: 3_000_000 })
  answer(said(page('kept')))
  await host().shown('c')
  const later = hostsOf({ time: 9_000_000 })
  const { shown, problems } = later.host()
  expect([await shown('c'), problems.states()]).toEqual(['kept', [{ solution: 'c', problem: 'away' }]])
})

test('cloud login pages: the ETag from a different control center or environment is not sent', async () => {
  const { host, answer } = hostsOf({ time: 3_000_000 }, 'there')
  answer(said(page('of there')))
  await host().shown('d')
  const here = hostsOf({ time: 3_000_001 }, 'here')
  expect([await here.host().shown('d'), here.asked]).toEqual(['of there', [null]])
})

test('cloud login pages: visitors get the stored page without waiting, and the newer one next time', async () => {
  const clock = { time: 4_000_000 }
  const { host, answer } = hostsOf(clock)
  const { shown, pages } = host()
  answer(said(page('old')))
  await shown('e')
  const { promise, resolve } = Promise.withResolvers<Answer>()
  answer(() => promise)
  clock.time += 60_000
  expect(await shown('e')).toBe('old')
  resolve(said(page('new')))
  await pages.settled()
  expect(await shown('e')).toBe('new')
})

test('cloud login pages: an invalid page is logged once, not fetched again, and replaced by the next valid one', async () => {
  const clock = { time: 5_000_000 }
  const { host, answer, check, asked, compiled, lines } = hostsOf(clock)
  const { shown, problems, pages } = host()
  const step = async () => {
    clock.time += 60_000
    const title = await shown('f')
    await pages.settled()
    return [title, problems.states().map(({ problem }) => problem)]
  }
  answer(said(page('good')))
  expect(await step()).toEqual(['good', []])
  check(() => ({ kind: 'refused', why: 'it has not the form' }))
  answer(said(page('bad')))
  expect(await step()).toEqual(['good', ['page']])
  answer({ kind: 'unchanged' })
  expect(await step()).toEqual(['good', ['page']])
  expect([asked, compiled, lines.length]).toEqual([[null, '"good"', '"bad"'], ['good', 'bad'], 1])
  answer(said(page('good')))
  expect(await step()).toEqual(['good', []])
})

test('cloud login pages: a page that could not be compiled is compiled at the next request', async () => {
  const clock = { time: 6_000_000 }
  const { host, answer, check, asked } = hostsOf(clock)
  const { shown } = host()
  answer(said(page('late')))
  check(() => ({ kind: 'later', why: 'the memory is full' }))
  expect(await shown('g')).toBeNull()
  check((text) => ({ kind: 'sound', template: { parts: [text], selects: [] }, warnings: [] }))
  clock.time += 60_000
  expect([await shown('g'), asked]).toEqual(['late', [null, null]])
})

test('cloud login pages: while the database is unreachable, the page is fetched once and then shown from memory', async () => {
  const closed = await openHostDatabase(readSettings({ PLATFORM_HOME: mkdtempSync(join(home, 'closed-')) }))
  await closed.destroy()
  const clock = { time: 7_000_000 }
  const { host, answer } = hostsOf(clock)
  const { shown } = host(closed)
  answer(said(page('memory')))
  expect(await shown('h')).toBe('memory')
  clock.time += 60_000
  answer(away)
  expect(await shown('h')).toBe('memory')
})

test('cloud login pages: an unexpected failure shows no page and causes no error', async () => {
  const { host, answer, check } = hostsOf({ time: 8_000_000 })
  const { shown, problems } = host()
  answer(said(page('odd')))
  check(() => {
    throw new TypeError('not thought of')
  })
  expect([await shown('i'), problems.states()]).toEqual([null, [{ solution: 'i', problem: 'page' }]])
})

test('cloud login pages: texts are stored per locale, named as in a solution; other names are ignored', async () => {
  const { host, answer } = hostsOf({ time: 8_500_000 })
  answer(
    said(
      page('texts', {
        default: { a: '1' },
        nl_BE: { a: '2' },
        'pt-BR': { a: '3' },
        constructor: { a: '4' },
        '../x': {},
      }),
    ),
  )
  const found = await host().pages.of('j')
  expect(found?.texts).toEqual({ default: { a: '1' }, 'nl-BE': { a: '2' }, 'pt-BR': { a: '3' } })
})
