import { CommandError } from '../../base/terminal/command.ts'
import { findDebugNode } from '../../host/debugger/find-debug-node.ts'
import type { Host, HostOptions } from '../../host/main.ts'
import { freePort } from './free-port.ts'

/** The default port of Node's inspector, which chrome://inspect checks automatically. */
const PORT = 9229

/**
 * Chosen here: three separate options, since Node's argument parser does not support options with an optional value.
 */
export const INSPECT_OPTIONS = {
  inspect: { type: 'boolean', what: 'debug the scripts with Chrome DevTools; the scripts then run in Node.js 24' },
  'inspect-port': {
    type: 'string',
    value: '<number>',
    what: `like --inspect, on this port on 127.0.0.1 (default: ${PORT} or the next free port)`,
  },
  'inspect-node': {
    type: 'string',
    value: '<file>',
    what: 'like --inspect, with this Node.js 24 binary (default: the first one found on this machine)',
  },
} as const

export type InspectOptions = {
  readonly inspect?: boolean
  readonly 'inspect-port'?: string
  readonly 'inspect-node'?: string
}

/**
 * The debugger settings for the host; undefined if no debugger was requested.
 * @param isTaken ports that are about to be used
 * @throws CommandError if, for example, no Node.js is found that supports debugging scripts
 */
export async function readInspect(
  options: InspectOptions,
  isTaken: (port: number) => boolean,
): Promise<HostOptions['inspect']> {
  const { inspect, 'inspect-port': port, 'inspect-node': given } = options
  if (inspect !== true && port === undefined && given === undefined) return undefined
  const wanted = port === undefined ? PORT : readPort(port)
  const node = await findDebugNode(given)
  if ('problem' in node) throw new CommandError('failed', node.problem)
  return { port: await freePort(wanted, isTaken), node }
}

function readPort(text: string): number {
  if (/^\d{1,5}$/.test(text) && Number(text) <= 65_535) return Number(text)
  throw new CommandError(
    'usage',
    `"${text}" is not a valid --inspect-port. Use a number from 1 to 65535, or 0 for any free port.`,
  )
}

/** The debugger's URL; '' if it was not requested. */
export async function inspectText({ debugger: open }: Pick<Host, 'debugger'>): Promise<string> {
  if (open === null) return ''
  const links = (await open.links()).map(({ unit, link }) => `  ${unit.padEnd(14)}${link}\n`)
  return `Debugger      ${open.address}: open chrome://inspect in Chrome, or one of these addresses\n${links.join('')}`
}
