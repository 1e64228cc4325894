import type { Limits } from '../../runtime/limits.ts'
import type { DatabaseSettings } from '../database/open.ts'
import type { LogLevel } from './properties.ts'

/** A file with a certificate, and the password for its key. */
export type CertificateSource = {
  readonly file: string
  readonly passphrase: string
  /**
   * A file that contains the password, or null. If set, it is used instead of `passphrase`, and is read each time the
   * certificate is loaded.
   */
  readonly passphraseFile: string | null
}

/** The parsed and checked settings that both services have. `home` is an absolute path. */
export type ServiceSettings = DatabaseSettings & {
  readonly port: number
  readonly host: string
  readonly publicUrl: URL | null
  /** If empty, the key is created once and stored in `home`. */
  readonly platformKey: string
  /** Null if TLS is off. */
  readonly certificate: CertificateSource | null
  /** The port on which http requests are redirected to https; null if there is none. */
  readonly httpRedirectPort: number | null
  /** In ms. */
  readonly hstsMaxAge: number
  readonly trustedProxies: readonly string[]
  readonly allowedHosts: readonly string[]
  /** In ms. */
  readonly drainTime: number
  readonly logLevel: LogLevel
  /** In bytes, from `RUNTIME_XMS` and `RUNTIME_XMX`. */
  readonly memory: { readonly minimum: number; readonly maximum: number }
  readonly limits: Limits
}
