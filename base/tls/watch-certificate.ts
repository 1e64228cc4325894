import { stat } from 'node:fs/promises'
import type { Logger } from 'pino'
import type { CertificateSource } from '../config/service-settings.ts'
import { repeat } from '../work/repeat.ts'
import { type Certificate, readCertificate } from './certificate.ts'
import { type CertificateState, namesNotCovered, sayProblem, stateOfCertificate } from './expiry.ts'

/** The certificate of a running host. It is reloaded when its file changes. */
export interface HostCertificate {
  readonly current: () => Certificate
  /** The certificate's state for the health report. `refused` is the reason why the newest file is not in use. */
  readonly state: () => CertificateState & { readonly refused: string | null }
  /** Called with each new certificate. */
  onChange(take: (certificate: Certificate) => void): void
  stop(): Promise<void>
}

export type WatchOptions = {
  readonly log: Pick<Logger, 'info' | 'warn' | 'error'>
  /** The host names that browsers use; see `publicNames`. */
  readonly names: readonly string[]
  /**
   * Polling interval in ms. A changed file is read only once two polls see the same state, because it may still be
   * incomplete before then.
   */
  readonly every?: number
  /** Epoch ms. */
  readonly now?: () => number
}

/**
 * Chosen here: polls the files with `stat` every second. File system events aren't reliable on network volumes. They
 * also stop when Kubernetes updates a secret by replacing a symbolic link two folders up. `stat` follows links.
 */
const EVERY = 1000
/** Interval in ms after which a problem with the certificate in use is logged again. */
const SAY_AGAIN = 86_400_000

/** @throws ERR_CERTIFICATE */
export function watchCertificate(source: CertificateSource, options: WatchOptions): HostCertificate {
  const { log, names, every = EVERY, now = Date.now } = options
  const takers: ((certificate: Certificate) => void)[] = []
  let certificate = readCertificate(source)
  let refused: string | null = null
  let said = Number.NEGATIVE_INFINITY
  let seen: string | null = null
  let readAs: string | null = null

  sayState()
  const uncovered = namesNotCovered(certificate.x509, names)
  if (uncovered.length > 0) sayUncovered(uncovered)

  function sayState(): void {
    const sentence = sayProblem(stateOfCertificate(certificate.x509, now()), now())
    if (sentence === null || now() - said < SAY_AGAIN) return
    said = now()
    log.warn(sentence)
  }

  function sayUncovered(hosts: readonly string[]): void {
    log.warn(
      `The host’s certificate is not valid for ${hosts.join(', ')}, so browsers block the pages there. Replace the certificate file with one that covers all of the host’s names.`,
    )
  }

  async function look(): Promise<void> {
    const before = seen
    seen = await footprint(source)
    // The first poll only records the files' state. The second one reads the files again. Their digest shows whether
    // they have changed since startup.
    if (seen !== before || seen === readAs) return
    readAs = seen
    read()
  }

  function read(): void {
    try {
      const next = readCertificate(source)
      const wasRefused = refused !== null
      refused = null
      if (next.digest === certificate.digest) {
        if (wasRefused) log.info('the certificate file was changed back to the certificate in use')
        return
      }
      for (const take of takers) take(next)
      certificate = next
      said = Number.NEGATIVE_INFINITY
      log.info({ validTo: next.x509.validToDate.toISOString() }, 'a new certificate is in use')
      const hosts = namesNotCovered(next.x509, names)
      if (hosts.length > 0) sayUncovered(hosts)
    } catch (error) {
      refused = (error as Error).message
      log.error(`The new certificate was rejected, so the previous one stays in use. Reason: ${refused}`)
    }
  }

  async function round(): Promise<void> {
    await look()
    sayState()
  }
  const stop = repeat(every, round)

  return {
    current: () => certificate,
    state: () => ({ ...stateOfCertificate(certificate.x509, now()), refused }),
    onChange: (take) => void takers.push(take),
    stop,
  }
}

/** Returns a text that changes whenever a file is overwritten or replaced, or a link to it changes. */
async function footprint({ file, passphraseFile }: CertificateSource): Promise<string> {
  const files = passphraseFile === null ? [file] : [file, passphraseFile]
  const stats = await Promise.all(
    files.map((one) =>
      stat(one, { bigint: true }).then(
        ({ dev, ino, size, mtimeNs, ctimeNs }) => [dev, ino, size, mtimeNs, ctimeNs].join(':'),
        ({ code }: NodeJS.ErrnoException) => String(code),
      ),
    ),
  )
  return stats.join(' ')
}
