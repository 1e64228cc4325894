import type { Json, Plugin } from '../../../runtime/plugin.ts'

export type Probe = Plugin & {
  /** Returns the arguments of all commands and requests since the last call of `take`. */
  readonly take: () => readonly (readonly Json[])[]
}

/** Creates a plugin whose binding accepts any value. It records the values that cross the sandbox boundary. */
export function createProbe(): Probe {
  let arrived: (readonly Json[])[] = []
  const keep = (_call: unknown, args: readonly Json[]) => void arrived.push(args)
  return {
    name: 'probe',
    guest: new URL('./guest.ts', import.meta.url),
    commands: { keep: { withoutLogin: true, decidesLogin: false, check: (args) => args, apply: keep } },
    requests: {
      ask: {
        check: (args) => args,
        changes: false,
        answer: (_call, args: readonly Json[]) => {
          arrived.push(args)
          return args[1] as Json
        },
      },
    },
    take() {
      const taken = arrived
      arrived = []
      return taken
    },
  }
}
