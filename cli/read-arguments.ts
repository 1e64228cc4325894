import { type ParseArgsOptionsConfig, parseArgs } from 'node:util'
import { SOLHOST } from '../base/program/program-name.ts'
import { type Command, CommandError, type Given } from '../base/terminal/command.ts'
import { nearestKey } from '../runtime/bundle/nearest-key.ts'

/** An option of every command. */
const HELP = { help: { type: 'boolean', short: 'h' } } as const

/** Parses a command's arguments and options. @returns null if help was requested. @throws CommandError `usage` */
export function readArguments(name: string, command: Command, words: readonly string[]): Given | null {
  const { values, positionals } = parse(name, command, words)
  if (values.help === true) return null
  const names = Object.keys(command.arguments)
  const extra = positionals[names.length]
  if (extra !== undefined) throw wrongUse(name, `unexpected argument "${extra}"`)
  const given = names.map((argument, index) => {
    const text = positionals[index] ?? command.arguments[argument]?.default
    if (text === undefined || text === '') throw wrongUse(name, `missing argument <${argument}>`)
    return [argument, text]
  })
  return { arguments: Object.fromEntries(given), options: values as Given['options'] }
}

/** Returns the usage line: `<folder>` is a required argument, `[folder]` an optional one. */
export function usageOf(name: string, { arguments: all, options }: Command): string {
  const words = Object.entries(all).map(([argument, { default: text }]) =>
    text === undefined ? `<${argument}>` : `[${argument}]`,
  )
  return ['solhost', name, ...words, ...(Object.keys(options).length === 0 ? [] : ['[options]'])].join(' ')
}

function parse(name: string, command: Command, words: readonly string[]) {
  const options = Object.entries(command.options).map(([option, { type, short }]) => [
    option,
    short === undefined ? { type } : { type, short },
  ])
  const config: ParseArgsOptionsConfig = { ...Object.fromEntries(options), ...HELP }
  try {
    return parseArgs({ args: [...words], options: config, allowPositionals: true, strict: true })
  } catch (error) {
    throw wrongUse(name, problemOf(error, words, Object.keys(config)))
  }
}

/** Returns an error message in terms of the user's input, because Node's messages describe its API. */
function problemOf(error: unknown, words: readonly string[], known: readonly string[]): string {
  const { code, message } = error as { code?: string; message: string }
  const quoted = /'(-[^'<]*?)(?: <value>)?'/.exec(message)?.[1] ?? ''
  if (code === 'ERR_PARSE_ARGS_UNKNOWN_OPTION') {
    const nearest = nearestKey(quoted.replace(/^-+/, ''), known)
    return `unknown option ${quoted}${nearest === null ? '' : `. Did you mean --${nearest}?`}`
  }
  if (code === 'ERR_PARSE_ARGS_INVALID_OPTION_VALUE') {
    const names = words.filter((word) => word.startsWith('-')).map((word) => word.split('=')[0] ?? word)
    const option = names.find((word) => message.includes(word)) ?? quoted
    return /does not take/.test(message) ? `${option} does not accept a value` : `${option} requires a value`
  }
  return message
}

function wrongUse(name: string, problem: string): CommandError {
  return new CommandError(
    'usage',
    `solhost ${name}: ${problem}${problem.endsWith('?') ? '' : '.'}\nRun "${SOLHOST} help ${name}" for usage.`,
  )
}
