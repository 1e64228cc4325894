import { SOLHOST } from '../base/program/program-name.ts'
import { type Command, EXIT_CODES } from '../base/terminal/command.ts'
import { usageOf } from './read-arguments.ts'

/** Fits the longest command, `admin reset-second-factor`. */
const WIDTH = 26

export function helpOfAll(commands: Readonly<Record<string, Command>>): string {
  const lines = Object.entries(commands).map(([name, { summary }]) => row(name, summary))
  return `solhost <command> [options]

Create, test and deploy solutions, and run the host that serves them.

Commands:
${lines.join('')}${row('help [command]', 'show this help, or help for a command')}${row('version', 'show the version')}
Get started:
  ${SOLHOST} init shop          # create a solution in the folder shop
  ${SOLHOST} dev shop           # run it on this machine; open pages update on each save
  ${SOLHOST} check shop         # find errors before you upload it
  ${SOLHOST} start              # start a host, in another terminal
  ${SOLHOST} deploy shop http://127.0.0.1:8080 --user admin

Exit codes:
${exitCodes()}`
}

/** Help for a group of commands, such as `users`. */
export function helpOfGroup(group: string, commands: Readonly<Record<string, Command>>): string {
  const lines = Object.entries(commands).flatMap(([name, { summary }]) =>
    name.startsWith(`${group} `) ? [row(name, summary)] : [],
  )
  return `solhost ${group} <command>\n\nCommands:\n${lines.join('')}\nRun "${SOLHOST} help ${group} <command>" for help with a command.\n`
}

export function helpOf(name: string, command: Command): string {
  const { summary, arguments: all, options, notes } = command
  const given = Object.entries(all).map(([argument, { what, default: text }]) =>
    row(argument, text === undefined ? what : `${what} (default: ${text})`),
  )
  const flags = Object.entries(options).map(([option, { short, value, what }]) =>
    row(`${short === undefined ? '' : `-${short}, `}--${option}${value === undefined ? '' : ` ${value}`}`, what),
  )
  const parts = [`${usageOf(name, command)}\n\n${capital(summary)}.\n`, section('Arguments', given)]
  parts.push(section('Options', [...flags, row('-h, --help', 'show this help')]))
  if (notes !== undefined) parts.push(`\n${notes()}`)
  return parts.join('')
}

function exitCodes(): string {
  return Object.values(EXIT_CODES)
    .map(({ code, what }) => row(String(code), what.replaceAll('`', '')))
    .join('')
}

function section(title: string, rows: readonly string[]): string {
  return rows.length === 0 ? '' : `\n${title}:\n${rows.join('')}`
}

function row(left: string, right: string): string {
  return `  ${left.padEnd(WIDTH)} ${capital(right)}\n`
}

function capital(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1)
}
