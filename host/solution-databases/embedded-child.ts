import { dirname } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Row } from '../../plugins/database/host.ts'
import { createFrameReader, encodeFrame } from '../../runtime/frames.ts'
import { isJsonObject, parsedJson } from '../../runtime/json.ts'
import type { Limits } from '../../runtime/limits.ts'
import { platformOf } from '../../runtime/platforms.js'
import { programFile } from '../../runtime/program-file.ts'
import { startChildWithChannel } from '../../runtime/start-child.ts'
import { z } from '../../runtime/zod.ts'
import type { FromEmbedded, ToEmbedded } from './embedded-protocol.ts'

/** The process that keeps the file of one embedded database open. */
export interface EmbeddedChild {
  readonly pid: number
  readonly send: (message: ToEmbedded) => void
  readonly kill: () => void
  /** Resolves when the process has exited. */
  readonly gone: Promise<void>
}

export type EmbeddedChildEvents = {
  /** @param message null if the process sent anything other than a response */
  readonly received: (message: FromEmbedded | null) => void
  readonly ended: () => void
  readonly notStarted: (error: Error) => void
}

const { hasGroups, hasShell } = platformOf()
const ROOT = fileURLToPath(new URL('../..', import.meta.url))
export const EMBEDDED_MAIN = new URL('./embedded-process.ts', import.meta.url)

/** Startup timeout in ms. A process that has not opened its file by then never will. */
export const READY_TIME = 10_000
/**
 * CPU time in ms after which the host replaces a process, between two queries. The kernel's limit is this time plus the
 * time of one query. It stops an endless query even if the host is killed.
 */
export const CPU_TIME = 60_000
/**
 * The shell command that runs the program with kernel limits on CPU time and file size. It also disables core dumps,
 * which would contain user data.
 */
const BOUNDED = 'ulimit -c 0; ulimit -t "$0"; ulimit -f "$1"; shift; exec "$@"'
/** Added to the kernel's limit on CPU time, in ms, so that the host's own limits apply first. */
const KERNEL_GRACE = 50
/** Maximum size of a frame without its rows, in bytes. */
const FRAME_REST = 16 * 1024

/**
 * Starts the process, and makes it open the file.
 * @returns null if it could not be started; `notStarted` is then called
 */
export function startEmbeddedChild(
  { file, limits, timeZone }: { readonly file: string; readonly limits: Limits; readonly timeZone: string },
  events: EmbeddedChildEvents,
): EmbeddedChild | null {
  const FromProcess = answerSchema(limits)
  const seconds = Math.ceil((CPU_TIME + limits.QUERY_TIME + KERNEL_GRACE) / 1000)
  const begun = startChildWithChannel(
    hasShell ? '/bin/sh' : process.execPath,
    () => {
      const program = programFile(EMBEDDED_MAIN)
      const words = [...flagsFor(file, program), program]
      if (!hasShell) return words
      return ['-c', BOUNDED, `${seconds}`, `${largestFile(limits)}`, process.execPath, ...words]
    },
    {
      cwd: ROOT,
      env: { TZ: timeZone },
      // Use a separate process group: Ctrl-C in the terminal must reach only the host, so that running logins can
      // finish.
      detached: hasGroups,
      windowsHide: true,
    },
  )
  if ('failure' in begun) {
    void begun.failure.then(events.notStarted)
    return null
  }
  const { child, channel } = begun
  const { promise: gone, resolve } = Promise.withResolvers<void>()
  const kill = () => void child.kill('SIGKILL')
  const send = (message: ToEmbedded) => void channel.write(encodeFrame(JSON.stringify(message)))
  const notReady = setTimeout(kill, READY_TIME)
  const reader = createFrameReader(
    () => limits.QUERY_SIZE + FRAME_REST,
    (content) => {
      clearTimeout(notReady)
      events.received(readAnswer(content.toString(), FromProcess))
    },
  )
  channel.on('data', (chunk: Buffer) => {
    if (!reader.push(chunk)) kill()
  })
  channel.on('error', kill)
  const end = () => {
    clearTimeout(notReady)
    channel.destroy()
    resolve()
    events.ended()
  }
  child.once('error', end)
  child.once('exit', end)
  send({
    kind: 'open',
    file,
    bounds: { rows: limits.QUERY_ROWS, answerSize: limits.QUERY_SIZE, fileSize: limits.EMBEDDED_SIZE },
  })
  return { pid: child.pid ?? -1, send, kill, gone }
}

function readAnswer(text: string, schema: z.ZodType<FromEmbedded>): FromEmbedded | null {
  return schema.safeParse(parsedJson(text)).data ?? null
}

/**
 * The maximum file size, in blocks of 512 bytes. The write-ahead log may contain each database page a second time, plus
 * a few MB before a checkpoint.
 */
function largestFile(limits: Limits): number {
  return Math.ceil((2 * limits.EMBEDDED_SIZE + 16 * 1024 ** 2) / 512)
}

/**
 * Node.js flags that restrict the process to the code and this file. It must not access the platform's data, which may
 * be in the same folder.
 */
function flagsFor(file: string, program: string): string[] {
  return [
    '--permission',
    `--allow-fs-read=${dirname(program)}`,
    `--allow-fs-read=${ROOT}package.json`,
    `--allow-fs-read=${file}`,
    `--allow-fs-write=${file}`,
    '--no-warnings',
    '--disallow-code-generation-from-strings',
    '--single-threaded-gc',
    '--optimize-for-size',
    '--max-semi-space-size=2',
  ]
}

function answerSchema(limits: Limits): z.ZodType<FromEmbedded> {
  const AnyRow = z.custom<Row>(isRow)
  return z.discriminatedUnion('kind', [
    z.strictObject({ kind: z.literal('opened') }),
    z.strictObject({
      kind: z.literal('answered'),
      rows: z.array(AnyRow).max(limits.QUERY_ROWS),
    }),
    z.strictObject({
      kind: z.literal('failed'),
      why: z.enum(['rows', 'size', 'file', 'second', 'sql']),
      message: z.string().max(2000),
    }),
  ])
}

/** Don't use zod's record here: it would drop a column named `__proto__`. */
function isRow(value: unknown): boolean {
  if (!isJsonObject(value)) return false
  return Object.values(value).every((one) => one === null || typeof one === 'string' || typeof one === 'number')
}
