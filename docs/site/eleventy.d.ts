// Eleventy includes no types. These are for the parts that build.ts uses (11ty.dev/docs/programmatic/).
declare module '@11ty/eleventy' {
  type Token = { type: string; content: string; attrSet(name: string, value: string): void }
  export type MarkdownIt = {
    core: { ruler: { push(name: string, rule: (state: { tokens: Token[] }) => void): void } }
  }
  export type Config = {
    setUseGitIgnore(use: boolean): void
    setTemplateFormats(formats: readonly string[]): void
    amendLibrary(extension: 'md', amend: (library: MarkdownIt) => void): void
    addTemplate(path: string, content: string, data?: object): void
    addTransform(name: string, transform: (this: { page: { url: string } }, content: string) => string): void
  }
  export default class Eleventy {
    constructor(
      input: string,
      output: string,
      options: { quietMode?: boolean; configPath?: false; config(config: Config): void },
    )
    write(): Promise<unknown>
  }
}
