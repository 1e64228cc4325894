import { SECRET_PLACEHOLDER } from '../../runtime/bundle/manifest-schema.ts'

/** Returns the name of the secret that `apiSecret` refers to, if any. */
export function secretNameOf(apiSecret: string): string | null {
  return SECRET_PLACEHOLDER.exec(apiSecret)?.[1] ?? null
}
