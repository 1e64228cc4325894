import type { Property } from '../../base/config/property.ts'

export const BUILDER_PROPERTIES = {
  BUILDER_COMMAND: {
    default: '',
    read: (text) => (text === '' ? null : readWords(text)),
    form: 'a command such as buildah with its options, separated by spaces; if empty, pipelines create only the build context',
    what: 'command that builds and pushes images; must be buildah or a compatible program, and runs without a shell',
  },
} as const satisfies Record<string, Property>

export type BuilderSettings = {
  /** `BUILDER_COMMAND`: the command and its own options; null if not set. */
  readonly builder: readonly string[] | null
  /** The entries of `REGISTRY_ALLOWED_HOSTS`, as `host:port`. */
  readonly allowedRegistries: readonly string[]
}

function readWords(text: string): readonly string[] | undefined {
  const words = text.split(' ').filter((word) => word !== '')
  const isCommand = words.length > 0 && !words[0]?.startsWith('-')
  return isCommand && text.length <= 4000 && !/\p{Cc}/u.test(text) ? words : undefined
}
