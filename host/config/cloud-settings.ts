import type { Values } from '../../base/config/property-groups.ts'

/** A Satellite's control center: its URL, its public key, and the Satellite's token. */
export type CloudSettings = {
  readonly url: URL
  /** `REMOTE_ENVIRONMENT_TOKEN` */
  readonly token: string
  /**
   * `CLOUD_PUBLIC_KEY`, an Ed25519 key as 32 bytes in base64url. If empty, the key received on the first connection is
   * trusted.
   */
  readonly publicKey: string
}

/** @returns null unless `ENVIRONMENT=onprem`, `REMOTE_ENVIRONMENT_TOKEN` and `CLOUD_URL` are set */
export function cloudSettingsOf(values: Values): CloudSettings | null {
  const { CLOUD_URL: url, REMOTE_ENVIRONMENT_TOKEN: token } = values
  if (values.ENVIRONMENT !== 'onprem' || token === '' || url === null) return null
  return { url, token, publicKey: values.CLOUD_PUBLIC_KEY }
}
