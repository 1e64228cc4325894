import type { Manifest } from './manifest.ts'

/** A script's text; `module` null is the solution itself. */
export type ScriptFile = { readonly module: string | null; readonly file: string; readonly source: string }

export type FormScriptFile = ScriptFile & { readonly form: string }

/** A form's JSON text, which is parsed in a sandbox process. */
export type FormFile = {
  readonly module: string | null
  readonly form: string
  readonly file: string
  readonly source: string
}

/** A table's JSON text; `locale` is `default` or a BCP 47 tag such as `nl-BE`. */
export type I18nFile = {
  readonly module: string | null
  readonly locale: string
  readonly file: string
  readonly source: string
}

/**
 * What a bundle holds, checked as far as the host may look. In every list modules come before those that name them
 * and the solution itself last, files sorted by name: the order in which the later one wins.
 */
export type Bundle = {
  /** Of the packed bytes, lower-case hex. */
  readonly sha256: string
  /** Packed size. */
  readonly bytes: number
  readonly manifest: Manifest
  /** Those that the solution reaches; dependencies first, then in the order named. */
  readonly modules: readonly { readonly name: string; readonly manifest: Manifest }[]
  /** Per solution or module: its globals, then its scopes. */
  readonly scripts: readonly ScriptFile[]
  readonly formScripts: readonly FormScriptFile[]
  readonly forms: readonly FormFile[]
  readonly i18n: readonly I18nFile[]
  /** The solution's own, by path below `media/`. */
  readonly media: ReadonlyMap<string, Uint8Array>
  /** `media/login.html`, which is not among `media`: nobody may download it as it is written. */
  readonly loginTemplate: { readonly file: string; readonly source: string } | null
}
