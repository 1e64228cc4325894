import type { JsonPlaces } from './json-places.ts'
import type { Manifest } from './manifest.ts'

/** A script's text; `module` is null for the solution itself. */
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
 * The contents of a bundle. The host has checked everything except the files that only a sandbox process may parse.
 *
 * The lists are sorted by module: first each module's dependencies, then the module, and the solution itself last.
 * Within a module, files are sorted by name. If two items have the same name, the later one is used.
 */
export type Bundle = {
  /** SHA-256 of the packed bytes, in lowercase hex. */
  readonly sha256: string
  /** The size of the packed bundle, in bytes. */
  readonly bytes: number
  readonly manifest: Manifest
  /**
   * The modules that the solution depends on, directly or indirectly. Dependencies come before the modules that use
   * them; otherwise, the listed order is kept.
   */
  readonly modules: readonly { readonly name: string; readonly manifest: Manifest }[]
  /** Positions in the manifests, by module; the key null is the solution itself. */
  readonly places: ReadonlyMap<string | null, JsonPlaces>
  /**
   * The scripts of the modules and of the solution. For each of them, `globals.js` is first, followed by the scopes.
   */
  readonly scripts: readonly ScriptFile[]
  readonly formScripts: readonly FormScriptFile[]
  readonly forms: readonly FormFile[]
  readonly i18n: readonly I18nFile[]
  /** The solution's own files, by path in `media/`. */
  readonly media: ReadonlyMap<string, Uint8Array>
  /** The file `media/login.html`. It is not in `media`, so its source can't be downloaded. */
  readonly loginTemplate: { readonly file: string; readonly source: string } | null
}
