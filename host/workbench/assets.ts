import { createHash } from 'node:crypto'
import type Router from '@koa/router'
import { sendScript } from '../../base/http/send-script.ts'
import { type BrowserPackages, readBrowserPackages } from '../../base/web/browser-packages.ts'
import type { BrowserModule, BrowserScript } from '../../base/web/browser-script.ts'
import { PlatformError } from '../../runtime/errors.ts'
import { makeWorkbenchScript } from '../web/scripts.ts'
import { readCompletions } from './completions.ts'

type Assets = {
  readonly module: BrowserModule
  readonly packages: BrowserPackages
  readonly completions: BrowserScript
}

let read: Assets | undefined

/** Reads the files when a workbench is first opened, so that they don't slow down the startup of the host. */
function assets(): Assets {
  read ??= readAssets()
  return read
}

function readAssets(): Assets {
  const module = makeWorkbenchScript()
  const text = JSON.stringify(readCompletions())
  const hash = createHash('sha256').update(text).digest('base64url').slice(0, 22)
  return { module, packages: readBrowserPackages(module.packages), completions: { text, hash } }
}

/** The URLs of the workbench's script, of the packages that it imports, and of the editor's completions. */
export function workbenchAssets() {
  const { module, packages, completions } = assets()
  return {
    script: `/admin/workbench.js?${module.hash}`,
    importMap: packages.importMap('/admin/modules'),
    completions: `/admin/workbench/completions.json?${completions.hash}`,
  }
}

/** Adds the files that the workbench's pages load. They are the same on every host, so they require no sign-in. */
export function addWorkbenchAssets(router: Router): void {
  router.get('/workbench.js', (ctx) => sendScript(ctx, assets().module))

  router.get('/modules/:file', (ctx) => {
    const { file } = ctx.params as { file: string }
    const module = assets().packages.files.get(file)
    if (module === undefined)
      throw new PlatformError('ERR_NOT_FOUND', `The workbench has no module "${file.slice(0, 100)}".`)
    sendScript(ctx, module)
  })

  router.get('/workbench/completions.json', (ctx) => {
    sendScript(ctx, assets().completions)
    ctx.type = 'application/json'
  })
}
