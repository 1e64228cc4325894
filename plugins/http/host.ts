import { startsWithHost } from '../../runtime/address.ts'
import { PlatformError } from '../../runtime/errors.ts'
import { createGates } from '../../runtime/gate.ts'
import { hostPortOf, namesPlaceOf } from '../../runtime/host-port.ts'
import type { Limits } from '../../runtime/limits.ts'
import { type Call, type Json, type Plugin, request, ScriptError } from '../../runtime/plugin.ts'
import { z } from '../../runtime/zod.ts'

export type HttpRequest = {
  readonly url: string
  readonly method: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string | null
  readonly maxBytes: number
  readonly timeoutMs: number
}

export type HttpAnswer = {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: Uint8Array
}

/** Why a request was rejected before it was sent. */
export type HttpRefusal = 'not-asked' | 'not-granted' | 'private'

/** The host services behind the binding `plugins.http`. */
export interface HttpPorts {
  /** The `host` or `host:port` entries that the operator granted to the call's solution. */
  granted(call: Call): Promise<readonly string[]>
  /**
   * Sends a granted request.
   * @throws PlatformError with a code ERR_OUTBOUND_* and a message that a script may read
   */
  send(request: HttpRequest): Promise<HttpAnswer>
  /** Called for a rejected request, once per call and host, and at most ten times per call. */
  onRefused(call: Call, host: string, why: HttpRefusal): void
}

/** Maximum number of rejected requests that are reported per call. A script can name any number of hosts. */
const REFUSALS_REPORTED = 10
/** Maximum queued requests per running request. More would fill the host's memory with their bodies. */
const WAITING_EACH = 8
/** Maximum length of a host name with its port, in reports and messages. */
const LONGEST_PLACE = 260

const Url = z.string().max(8192)
const Headers = z.array(z.tuple([z.string().max(16_384), z.string().max(16_384)])).max(64)

export default function http(ports: HttpPorts, limits: Limits): Plugin {
  const reported = new WeakMap<Call, Set<string>>()
  /** Limits a solution's concurrent requests, so that the responses don't fill the host's memory. */
  const inTurn = createGates(limits.FETCH_AT_ONCE, limits.FETCH_AT_ONCE * (WAITING_EACH + 1))

  function refuse(call: Call, host: string, why: HttpRefusal): void {
    const known = reported.get(call) ?? new Set()
    reported.set(call, known)
    if (known.size >= REFUSALS_REPORTED || known.has(`${why} ${host}`)) return
    known.add(`${why} ${host}`)
    ports.onRefused(call, host, why)
  }

  /** @throws ScriptError unless the manifest or a module's manifest lists the host and the operator granted it */
  async function checkGranted(call: Call, url: URL, place: string): Promise<void> {
    const { manifest, modules } = call.solution
    if (![manifest, ...modules.map((module) => module.manifest)].some(({ http }) => namesPlaceOf(url, http))) {
      refuse(call, place, 'not-asked')
      throw new ScriptError(`the manifest does not list ${place}: add it to "http" in solution.json`)
    }
    if (!namesPlaceOf(url, await ports.granted(call))) {
      refuse(call, place, 'not-granted')
      throw new ScriptError(`the operator has not granted ${place} to this solution; ask the operator to grant it`)
    }
  }

  function refuseTurn(why: 'full' | 'late'): never {
    const { FETCH_AT_ONCE: width, FETCH_TIME: patience } = limits
    throw new ScriptError(
      why === 'full'
        ? `the solution already has ${width * (WAITING_EACH + 1)} HTTP requests in progress or queued, and FETCH_AT_ONCE allows no more; wait for one to finish`
        : `the request was not sent: it waited ${patience} ms (FETCH_TIME), because only ${width} of the solution’s requests can run at the same time (FETCH_AT_ONCE); try again later`,
    )
  }

  async function answer(
    call: Call,
    text: string,
    method: string,
    headers: readonly (readonly [string, string])[],
    body: string | null,
  ): Promise<Json> {
    const url = startsWithHost(text) ? URL.parse(text) : null
    if (url === null) throw new ScriptError('the URL is not an http or https URL, or its host name is too long')
    const place = placeOf(url)
    await checkGranted(call, url, place)
    const { FETCH_SIZE: maxBytes, FETCH_TIME: timeoutMs } = limits
    const asked = { url: text, method, headers: Object.fromEntries(headers), body, maxBytes, timeoutMs }
    try {
      return plainAnswer(await inTurn(call.solution.name, limits.FETCH_TIME, () => ports.send(asked), refuseTurn))
    } catch (error) {
      if (!(error instanceof PlatformError) || !error.code.startsWith('ERR_OUTBOUND_')) throw error
      if (error.code === 'ERR_OUTBOUND_PRIVATE') refuse(call, place, 'private')
      throw new ScriptError(`${error.message}${limitOf(error)}`, { cause: error })
    }
  }

  return {
    name: 'http',
    under: 'plugins',
    onlyIfNamed: true,
    guest: new URL('./guest.ts', import.meta.url),
    commands: {},
    // In an endpoint's call, scripts can return a response with a status and headers.
    state: (call): Json => (call.kind === 'request' ? true : null),
    requests: {
      fetch: request(
        z.tuple([Url, z.enum(['GET', 'HEAD']), Headers]),
        (call, [url, method, headers]) => answer(call, url, method, headers, null),
        { changes: false },
      ),
      send: request(
        z.tuple([Url, z.enum(['POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']), Headers, z.string().nullable()]),
        (call, [url, method, headers, body]) => answer(call, url, method, headers, body),
      ),
    },
  }
}

/** Formats a host as in manifests: without the port if it is the scheme's default. */
function placeOf(url: URL): string {
  const { host, port } = hostPortOf(url)
  return (url.port === '' ? host : `${host}:${port}`).slice(0, LONGEST_PLACE)
}

function plainAnswer({ status, headers, body }: HttpAnswer): Json {
  return { status, headers: Object.entries(headers), text: new TextDecoder().decode(body) }
}

/** Returns the limit that the operator would have to raise, as text for a message; '' for other errors. */
function limitOf({ code }: PlatformError): string {
  if (code === 'ERR_OUTBOUND_TIME') return ' (FETCH_TIME)'
  return code === 'ERR_OUTBOUND_SIZE' ? ' (FETCH_SIZE)' : ''
}
