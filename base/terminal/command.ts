import type { Terminal } from './terminal.ts'

/** Every exit code of the command line; docs/command-line.md shows this table. */
export const EXIT_CODES = {
  done: { code: 0, what: 'success' },
  failed: { code: 1, what: 'failure; the message explains the reason and what to do' },
  usage: { code: 2, what: 'usage error: an unknown command or option, or missing input' },
  faults: { code: 3, what: 'the solution has errors, or a test failed; with `--strict`, warnings count as errors' },
  refused: {
    code: 4,
    what: 'the host denied access: invalid credentials, a missing scope, or too many failed sign-ins',
  },
  unreachable: { code: 5, what: 'no Solhost server responded at the URL' },
  interrupted: { code: 130, what: 'interrupted at a prompt or while tests run, for example with Ctrl+C' },
} as const

export type Exit = keyof typeof EXIT_CODES

export type Argument = {
  readonly what: string
  /** Describes the value that is used if the argument is omitted. Without this property, the argument is required. */
  readonly default?: string
}

export type Option = {
  readonly type: 'boolean' | 'string'
  readonly what: string
  readonly short?: string
  /** The placeholder for the value of a `string` in help texts: `<file>`. */
  readonly value?: string
}

/** The option of commands that can print their result for programs. */
export const JSON_OPTION = { json: { type: 'boolean', what: 'print one JSON object instead of text' } } as const

/** A command of the command line: a file in `commands/`. */
export interface Command {
  /** One line for the list of commands. */
  readonly summary: string
  /** The arguments, in the order in which users type them. */
  readonly arguments: Readonly<Record<string, Argument>>
  readonly options: Readonly<Record<string, Option>>
  /** Additional lines for the command's help. */
  readonly notes?: () => string
  /** @throws CommandError for errors that the user can fix */
  run(given: Given, terminal: Terminal): Promise<Exit>
}

/** The parsed command line. Options that are not given are absent. */
export type Given = {
  readonly arguments: Readonly<Record<string, string>>
  readonly options: Readonly<Record<string, string | boolean>>
}

type NamesOf<Table> = keyof Table & string
type ValuesOf<Options extends Command['options']> = {
  readonly [Name in NamesOf<Options>]?: Options[Name]['type'] extends 'boolean' ? boolean : string
}

/** Defines a command. Its `run` receives the arguments and options with their types, validated by the parser. */
export function command<
  const Arguments extends Command['arguments'],
  const Options extends Command['options'],
>(definition: {
  readonly summary: string
  readonly arguments: Arguments
  readonly options: Options
  readonly notes?: () => string
  readonly run: (
    given: { readonly arguments: Readonly<Record<NamesOf<Arguments>, string>>; readonly options: ValuesOf<Options> },
    terminal: Terminal,
  ) => Promise<Exit>
}): Command {
  // At run time, the parser validates the values against the definition. The types can't show this.
  return { ...definition, run: (given, terminal) => definition.run(given as never, terminal) }
}

/** Thrown to end a command, with a message that explains what to do. */
export class CommandError extends Error {
  readonly exit: Exit

  constructor(exit: Exit, message: string, options?: ErrorOptions) {
    super(message, options)
    this.name = 'CommandError'
    this.exit = exit
  }
}
