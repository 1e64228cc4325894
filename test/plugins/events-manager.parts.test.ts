import { afterAll, expect, test } from 'vitest'
import { createScriptLab } from '../support/solutions.ts'

const lab = createScriptLab({ manifest: { eventTypes: { saved: {}, other: {} } } })
afterAll(() => lab.stop())

const value = (body: string) => lab.evaluate(body)
const failureOf = async (body: string) =>
  (await lab.run({ script: `function onSolutionOpen() { ${body} }`, evaluated: true })).failure?.message

test('EventType contains the built-in and the custom types', async () => {
  expect(await value('return [EventType.saved, EventType.onShow, EventType.nothing]')).toEqual([
    'saved',
    'onShow',
    null,
  ])
})

test('EventType: a constant is a string and has getName()', async () => {
  const body = `return [EventType.saved.getName(), EventType.onShow.getName(), typeof EventType.saved, EventType.saved === 'saved', Object.keys('ab')]`
  expect(await value(body)).toEqual(['saved', 'onShow', 'string', true, ['0', '1']])
})

test('an event has getType, getFormName and getElementName, and keeps its other members', async () => {
  const body = `let got
    eventsManager.addEventListener('saved', (event) => { got = [event.getType(), event.getFormName(), event.getElementName(), Object.keys(event)] })
    eventsManager.fireEventListeners('saved')
    return got`
  expect(await value(body)).toEqual([
    'saved',
    null,
    null,
    ['type', 'source', 'formName', 'elementName', 'data', 'stopPropagation'],
  ])
})

test('fireEventListeners: it returns true without listeners', async () => {
  expect(await value("return eventsManager.fireEventListeners('saved')")).toBe(true)
})

test('fireEventListeners: it returns false when one of three listeners returns false, and all three run', async () => {
  const body = `const seen = []
    for (const v of [true, 0, 'x']) eventsManager.addEventListener('saved', () => { seen.push(v); return v })
    return [eventsManager.fireEventListeners('saved'), seen]`
  expect(await value(body)).toEqual([false, [true, 0, 'x']])
})

test('fireEventListeners: arguments follow the event and are in its data', async () => {
  const body = `let got
    eventsManager.addEventListener('saved', function (event, a, b) { got = [event.type, event.source, event.formName, event.data, a, b, arguments.length]; return true })
    eventsManager.fireEventListeners('saved', 'ctx', [1, { x: 2 }])
    return got`
  expect(await value(body)).toEqual(['saved', 'ctx', null, [1, { x: 2 }], 1, { x: 2 }, 3])
})

test('fireEventListeners: an array as second argument contains the arguments; null is the context', async () => {
  const body = `const got = []
    eventsManager.addEventListener('saved', (event, a) => { got.push([event.source, a ?? null]); return true })
    eventsManager.fireEventListeners('saved', [7])
    eventsManager.fireEventListeners('saved', null)
    eventsManager.fireEventListeners('saved', null, null)
    return got`
  expect(await value(body)).toEqual([
    [null, 7],
    [null, null],
    [null, null],
  ])
})

test('contexts: a listener is called if its context is null, the fired context is null, or both are equal', async () => {
  const body = `const add = (name, context) => eventsManager.addEventListener('saved', () => { seen.push(name); return true }, context)
    let seen = []
    add('any'); add('a', 'a'); add('globals', globalThis)
    const round = (context) => { seen = []; eventsManager.fireEventListeners('saved', context); return seen }
    return [round(null), round('a'), round('globals'), round('b')]`
  expect(await value(body)).toEqual([['any', 'a', 'globals'], ['any', 'a'], ['any', 'globals'], ['any']])
})

test('aggregation: RETURN_VALUE_ARRAY returns a real array of all values in listener order', async () => {
  const body = `for (const v of [1, 'two', null]) eventsManager.addEventListener('saved', () => v)
    const values = eventsManager.fireEventListeners('saved', null, null, EVENTS_AGGREGATION_TYPE.RETURN_VALUE_ARRAY)
    return [values, Array.isArray(values), values.map((v) => typeof v), eventsManager.fireEventListeners('saved', null, null, EVENTS_AGGREGATION_TYPE.RETURN_VALUE_BOOLEAN)]`
  expect(await value(body)).toEqual([[1, 'two', null], true, ['number', 'string', 'object'], false])
})

test('stopPropagation: later listeners are skipped and do not affect the result', async () => {
  const body = `let ran = false
    eventsManager.addEventListener('saved', (event) => { event.stopPropagation(); return true })
    eventsManager.addEventListener('saved', () => { ran = true; return false })
    return [eventsManager.fireEventListeners('saved'), ran, eventsManager.fireEventListeners('saved', null, null, 1)]`
  expect(await value(body)).toEqual([true, false, [true]])
})

test('a listener that throws or returns a Promise counts as false and is logged with its position, and the other listeners run', async () => {
  const script = `function onSolutionOpen() {
    let ran = false
    eventsManager.addEventListener('saved', () => {
      throw new Error('broken')
    })
    eventsManager.addEventListener('saved', async () => true)
    eventsManager.addEventListener('saved', () => { ran = true; return true })
    return JSON.stringify({ all: eventsManager.fireEventListeners('saved'), list: eventsManager.fireEventListeners('saved', null, null, 1), ran })
  }`
  const { values, log } = await lab.run({ script })
  expect(values).toEqual({ all: false, list: [null, null, true], ran: true })
  expect(log[0]).toMatchObject({
    level: 'error',
    message: 'a listener for saved failed: Error: broken',
    position: { file: 'modules/auth/globals.js', line: 4 },
  })
  expect(log[1]?.message).toContain('returned a Promise')
})

test('if listeners are added or removed while an event fires, that takes effect at the next event', async () => {
  const body = `const seen = []
    let first = true
    const off = eventsManager.addEventListener('saved', () => {
      seen.push('one')
      if (first) { first = false; off(); offTwo(); eventsManager.addEventListener('saved', () => { seen.push('three'); return true }) }
      return true
    })
    const offTwo = eventsManager.addEventListener('saved', () => { seen.push('two'); return true })
    eventsManager.fireEventListeners('saved')
    seen.push('|')
    eventsManager.fireEventListeners('saved')
    return seen`
  expect(await value(body)).toEqual(['one', 'two', '|', 'three'])
})

test('addEventListener: the deregister function removes only its own registration, once', async () => {
  const body = `let count = 0
    const listener = () => { count++; return true }
    const off = eventsManager.addEventListener('saved', listener)
    eventsManager.addEventListener('saved', listener)
    eventsManager.fireEventListeners('saved')
    const removed = [off(), off()]
    eventsManager.fireEventListeners('saved')
    return [count, removed]`
  expect(await value(body)).toEqual([3, [true, false]])
})

test('removeEventListener: null as callback or context matches any', async () => {
  const body = `const f = () => true, g = () => true
    const fill = () => { eventsManager.removeEventListener('saved', null, null); eventsManager.addEventListener('saved', f, 'a'); eventsManager.addEventListener('saved', f, 'b'); eventsManager.addEventListener('saved', g, 'a') }
    const left = () => eventsManager.fireEventListeners('saved', null, null, 1).length
    const round = (callback, context) => { fill(); return [eventsManager.removeEventListener('saved', callback, context), left()] }
    return [round(f, null), round(null, 'a'), round(f, 'b'), round(null, null), round(g, 'b'), eventsManager.removeEventListener('saved', () => 1, null)]`
  expect(await value(body)).toEqual([[true, 1], [true, 1], [true, 2], [true, 0], [false, 3], false])
})

test('removeEventListener: listeners of built-in types can only be removed with their deregister function', async () => {
  const body = `const f = () => true
    const off = eventsManager.addEventListener('onShow', f)
    return [eventsManager.removeEventListener('onShow', f, null), eventsManager.hasEventListeners('onShow', null), off(), eventsManager.hasEventListeners('onShow', null)]`
  expect(await value(body)).toEqual([false, true, true, false])
})

test('hasEventListeners: it returns true if a listener would be called', async () => {
  const body = `const none = eventsManager.hasEventListeners('saved', null)
    eventsManager.addEventListener('saved', () => true, 'a')
    return [none, eventsManager.hasEventListeners('saved', null), eventsManager.hasEventListeners('saved', 'a'), eventsManager.hasEventListeners('saved', 'b')]`
  expect(await value(body)).toEqual([false, true, true, false])
})

test('an unknown type causes a TypeError that lists the known types', async () => {
  expect(await failureOf("eventsManager.addEventListener('saveed', () => 1)")).toMatch(
    /^TypeError: unknown event type "saveed"; the event types are: onLoad, .*, saved, other$/,
  )
  expect(
    await value(
      'return [eventsManager.removeEventListener(null), eventsManager.removeEventListener(undefined, () => {}, "x")]',
    ),
  ).toEqual([false, false])
})

test('a script that fires a built-in type gets a TypeError', async () => {
  expect(await failureOf("eventsManager.fireEventListeners('onShow')")).toBe(
    'TypeError: scripts cannot fire onShow: only the platform fires it',
  )
})

test.each([
  ["eventsManager.addEventListener('saved', 5)", 'the callback must be a function'],
  ["eventsManager.addEventListener('saved', () => 1, 5)", 'the context must be a form, the global scope or a string'],
  ["eventsManager.fireEventListeners('saved', null, {})", 'the callback arguments must be an array'],
  [
    "eventsManager.fireEventListeners('saved', null, null, 2)",
    'the aggregation must be a constant of EVENTS_AGGREGATION_TYPE',
  ],
])('%s causes a TypeError', async (body, message) => {
  expect(await failureOf(body)).toBe(`TypeError: ${message}`)
})

test('a listener that fires events beyond the depth limit ends the call with script_quota', async () => {
  const script = `function onSolutionOpen() {
    eventsManager.addEventListener('saved', () => eventsManager.fireEventListeners('saved'))
    eventsManager.fireEventListeners('saved')
  }`
  const { failure } = await lab.run({ script })
  expect(failure).toMatchObject({ code: 'script_quota', limit: { name: 'EVENT_DEPTH', allowed: 16, used: 17 } })
})

test('more listeners than the limit end the call with script_quota', async () => {
  const script =
    "function onSolutionOpen() { for (let i = 0; i < 2000; i++) eventsManager.addEventListener('saved', () => true) }"
  const { failure } = await lab.run({ script })
  expect(failure).toMatchObject({ code: 'script_quota', limit: { name: 'LISTENERS', allowed: 1000, used: 1001 } })
})
