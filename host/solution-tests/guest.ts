import type { GuestApi } from '../../runtime/sandbox/guest-api.d.ts'
import { createAssert } from './assert.guest.ts'
import { type Answer, clientHandle } from './client-handle.guest.ts'
import { createQuestions } from './questions.guest.ts'

type Test = { readonly name: string; readonly run: () => unknown }
type Facts = { readonly name: string; readonly version: string }

/** The globals of test files: `test`, `assert` and `solution`. They control objects in the host. */
export default function solution(api: GuestApi<Facts>) {
  const { safe } = api
  const SafePromise = Promise
  const { parse, stringify } = JSON
  const tests: Test[] = []
  let isLoading = true
  const { ask, forget, unanswered } = createQuestions(api)

  function defineTest(name: unknown, run: unknown): void {
    if (!isLoading) throw new safe.Error('test(name, run) belongs at the top level of the file, not inside a test')
    if (typeof name !== 'string' || name === '') throw new safe.TypeError('a test needs a name: test(name, run)')
    if (typeof run !== 'function') throw new safe.TypeError(`the test "${name}" needs a function: test(name, run)`)
    if (tests.some((one) => one.name === name))
      throw new safe.Error(`two tests in this file have the name "${name}"; rename one`)
    tests.push({ name, run: run as () => unknown })
  }

  // --- actions on the solution ---------------------------------------------------------------------------------------

  const actions = {
    signIn: (params: unknown = {}) => ask('signIn', [params], 'solution.signIn'),
    getOAuthConfig: (params: unknown = {}) => ask('getOAuthConfig', [params], 'solution.getOAuthConfig'),
    request: (address: unknown, request: unknown = {}) => ask('request', [address, request], 'solution.request'),
    runJob: (name: unknown, data: unknown = null, run: unknown = {}) =>
      ask('runJob', [name, data, run], 'solution.runJob'),
    enqueued: () => ask('enqueued', [], 'solution.enqueued'),
    async open(options: unknown = {}) {
      const { id, state } = await ask<{ id: number } & Answer>('open', [options], 'solution.open')
      return clientHandle(ask, id, state)
    },
    addUser: (user: unknown) => ask('addUser', [user], 'solution.addUser'),
    answerHttp: (url: unknown, answer: unknown) => ask('answerHttp', [url, answer], 'solution.answerHttp'),
    httpRequests: () => ask('httpRequests', [], 'solution.httpRequests'),
  }

  // --- entry functions -----------------------------------------------------------------------------------------------

  api.entry('names', () => {
    isLoading = false
    return stringify(tests.map(({ name }) => name))
  })
  api.entry('run', async (index: number) => {
    isLoading = false
    forget()
    await (tests[index] as Test).run()
    // Let the callbacks of settled promises run. The test's last line may have returned such a promise without awaiting
    // it.
    await new SafePromise((resolve) => resolve(null))
    const left = unanswered()
    if (left !== null) throw left
  })
  api.onLoad((facts) => {
    const { name, version } = parse(stringify(facts)) as Facts
    api.defineGlobal('solution', { name, version, ...actions })
  })
  api.defineGlobal('test', defineTest)
  api.defineGlobal('assert', createAssert(safe))
}
