import { randomUUID } from 'node:crypto'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { CompactSign, exportJWK, generateKeyPair } from 'jose'
import { DESIRED_TYPE, type Report } from '../../base/protocol/protocol.ts'

export type SigningKey = { readonly publicKey: string; readonly sign: Sign }
type Sign = (payload: unknown, header?: Readonly<Record<string, unknown>>) => Promise<string>

export async function signingKey(): Promise<SigningKey> {
  const { privateKey, publicKey } = await generateKeyPair('EdDSA', { crv: 'Ed25519', extractable: true })
  const { x = '' } = await exportJWK(publicKey)
  return {
    publicKey: x,
    sign: (payload, header = {}) =>
      new CompactSign(new TextEncoder().encode(JSON.stringify(payload)))
        .setProtectedHeader({ alg: 'EdDSA', typ: DESIRED_TYPE, ...header })
        .sign(privateKey),
  }
}

export const ENVIRONMENT = randomUUID()

/** Creates a desired state that is empty except for `more`. */
export function stateOf(number: number, more: object = {}) {
  return { environment: ENVIRONMENT, number, issuedAt: 1, solutions: {}, settings: {}, ...more }
}

export type PlayedCenter = {
  readonly url: string
  readonly key: SigningKey
  /**
   * Sets the signed statement to send for every request, whatever sequence number the request contains. Null means that
   * there is none.
   */
  says(statement: string | null): void
  /** Sets the bytes to send for every bundle. */
  readonly gives: (bundle: Uint8Array) => void
  readonly reports: Report[]
  /** Sets the status of the response to reports; 204 by default. */
  readonly answerReports: (status: number) => void
  readonly stop: () => Promise<void>
}

/**
 * Starts a control center whose responses the test chooses. It simulates a compromised control center or an impostor.
 */
export async function playCenter(): Promise<PlayedCenter> {
  const key = await signingKey()
  const reports: Report[] = []
  let statement: string | null = null
  let bundle: Uint8Array = new Uint8Array()
  let reportStatus = 204
  const server = createServer(async (request, response) => {
    const json = (value: unknown) => {
      response.setHeader('content-type', 'application/json')
      response.end(JSON.stringify(value))
    }
    const path = new URL(request.url ?? '', 'http://x').pathname.replace('/satellite/v1/', '')
    if (path === 'key') return json({ publicKey: key.publicKey })
    if (path === 'desired' && statement !== null) return json({ statement })
    if (path.startsWith('bundles/')) return void response.end(bundle)
    if (path === 'report') reports.push(JSON.parse(await text(request)) as Report)
    response.statusCode = path === 'report' ? reportStatus : 204
    response.end()
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    key,
    says: (next) => {
      statement = next
    },
    gives: (next) => {
      bundle = next
    },
    reports,
    answerReports: (status) => {
      reportStatus = status
    },
    async stop() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}
