import type { Json, Plugin } from '../../../runtime/plugin.ts'

export type Probe = Plugin & {
  /** What arrived by commands and requests since it was last called. */
  readonly take: () => readonly (readonly Json[])[]
}

/** A binding that takes everything, to see what the border lets through. */
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
