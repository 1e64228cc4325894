/** These properties of `node:http` load Node's library for `fetch` when they are read. They are the same as the globals. */
const HEAVY = ['WebSocket', 'CloseEvent', 'MessageEvent'] as const

/**
 * Makes `import` of `node:http` ten times as fast. An import reads all properties of the module, so it would load a
 * library that most hosts never use. Call this before the first import of `node:http`.
 */
export function keepHttpLean(): void {
  const http = process.getBuiltinModule('node:http')
  for (const name of HEAVY) {
    if (Object.getOwnPropertyDescriptor(http, name)?.configurable)
      Object.defineProperty(http, name, { value: undefined })
  }
}
