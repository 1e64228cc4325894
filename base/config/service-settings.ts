import type { Limits } from '../../runtime/limits.ts'
import type { DatabaseSettings } from '../database/open.ts'
import type { LogLevel } from './properties.ts'

/** Where a certificate is read from, with the password of its file. */
export type CertificateSource = {
  readonly file: string
  readonly passphrase: string
  /** Read instead of `passphrase`, each time; null: there is none. */
  readonly passphraseFile: string | null
}

/** The settings that both services have, read and checked. `home` is an absolute path. */
export type ServiceSettings = DatabaseSettings & {
  readonly port: number
  readonly host: string
  readonly publicUrl: URL | null
  /** Empty: made once and kept in `home`. */
  readonly platformKey: string
  /** Null: no TLS is served. */
  readonly certificate: CertificateSource | null
  /** Of the port that leads to https; null: there is none. */
  readonly httpRedirectPort: number | null
  /** In ms. */
  readonly hstsMaxAge: number
  readonly trustedProxies: readonly string[]
  readonly allowedHosts: readonly string[]
  /** In ms. */
  readonly drainTime: number
  readonly logLevel: LogLevel
  /** In bytes: `RUNTIME_XMS` and `RUNTIME_XMX`. */
  readonly memory: { readonly minimum: number; readonly maximum: number }
  readonly limits: Limits
}
