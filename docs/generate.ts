// Writes the generated parts of the docs; with --check it only says whether they are up to date.
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { fileURLToPath } from 'node:url'
import { adviceFor } from '../base/bundles/advice.ts'
import { PROPERTIES } from '../base/config/properties.ts'
import type { Property } from '../base/config/property.ts'
import { ERRORS } from '../base/http/errors.ts'
import { CENTER_PROPERTIES } from '../control-center/config/properties.ts'
import { declaredRoutes, describeAdminApi } from '../host/api.ts'
import { OAUTH_PROBLEMS } from '../host/oauth/problems.ts'
import { FAULT_CODES, WARNING_CODES } from '../runtime/bundle/faults.ts'
import { manifestJsonSchema } from '../runtime/bundle/manifest.ts'
import { formJsonSchema } from '../runtime/forms/form-schema.ts'
import { LIMITS } from '../runtime/limits.ts'
import { FAILURES } from '../runtime/outcome.ts'
import { AFTER_FAILURES, AFTER_OAUTH_PROBLEMS } from './next-steps.ts'
import { scriptingPage } from './scripting-reference.ts'

const files: Record<string, string> = {
  'schema/solution.schema.json': `${JSON.stringify(manifestJsonSchema(), null, 2)}\n`,
  'schema/form.schema.json': `${JSON.stringify(formJsonSchema(), null, 2)}\n`,
  'reference/settings.md': settingsPage(),
  'reference/control-center-settings.md': centerSettingsPage(),
  'reference/codes.md': codesPage(),
  'reference/scripting.md': scriptingPage(),
  'reference/admin-api.md': adminApiPage(),
  'reference/openapi.json': `${JSON.stringify(describeAdminApi(packageVersion()), null, 2)}\n`,
}

let stale = 0
for (const [name, content] of Object.entries(files)) {
  const file = fileURLToPath(new URL(name, import.meta.url))
  if (read(file) === content) continue
  if (process.argv.includes('--check')) {
    process.stderr.write(`docs/${name} is not up to date: run "npm run docs"\n`)
    stale++
  } else {
    mkdirSync(dirname(file), { recursive: true })
    writeFileSync(file, content)
  }
}
process.exitCode = stale === 0 ? 0 : 1

function read(file: string): string | null {
  try {
    return readFileSync(file, 'utf8')
  } catch {
    return null
  }
}

function propertyRows(properties: Readonly<Record<string, Property>>): string {
  const rows = Object.entries(properties).map(([name, one]) => {
    const secret = one.secret ? ` May come as \`${name}_FILE\`.` : ''
    return `| \`${name}\` | ${code(one.default)} | ${one.what}. ${capital(one.form)}.${secret} |`
  })
  return rows.join('\n')
}

function centerSettingsPage(): string {
  return `# Settings of the control center

Every setting is an environment property. The control center does not start with a wrong value or a misspelt name, and prints one line per error. What they are for:
[control-center.md](../control-center.md#settings).

| property | default | what it is, and what is allowed |
|---|---|---|
${propertyRows(CENTER_PROPERTIES)}

Those of the [limits](settings.md#limits) that it uses are properties too, with the same names and defaults: \`BUNDLE_*\`, \`PASSWORD_LENGTH\`,
\`SESSION_*\`, \`THROTTLE_*\`, \`AUDIT_KEPT\` and \`TELEMETRY_QUEUE\`.
`
}

/** Every route as it is declared beside its handler. */
function adminApiPage(): string {
  const rows = declaredRoutes().map(({ method, path, definition: { summary, right } }) => {
    const need = right === null ? 'the admin account' : right === 'any' ? 'any token' : `\`${right}\``
    return `| ${method} \`${path.slice(1).replaceAll(/:(\w+)/g, '{$1}')}\` | ${summary.replaceAll('|', '\\|')} | ${need} |`
  })
  return `# Admin API

Every address begins with \`/admin/api/\`. The admin account signs in with Basic, tools with an API token (Bearer) and its scopes; the admin account
may do everything. Errors are [problems](codes.md) (RFC 9457). The whole description, with what is sent and answered, is
[openapi.json](openapi.json); each host has its own under \`/admin/api/openapi.json\`.

| request | does | scope of a token |
|---|---|---|
${rows.join('\n')}
`
}

function settingsPage(): string {
  const limits = Object.entries(LIMITS).map(
    ([name, { default: text, what }]) => `| \`${name}\` | ${code(text)} | ${what} |`,
  )
  return `# Settings

Every setting is an environment property. The host does not start with a wrong value or a misspelt name, and prints one line per error.

| property | default | what it is, and what is allowed |
|---|---|---|
${propertyRows(PROPERTIES)}

## Limits

Properties too. Times take \`ms|s|m|h|d\`, sizes \`k|m|g\` (1024).

| property | default | limits |
|---|---|---|
${limits.join('\n')}
`
}

function codesPage(): string {
  const errors = Object.entries(ERRORS).map(
    ([name, { status, fixedBy, advice }]) => `| \`${name}\` | ${status} | ${fixedBy} | ${advice} |`,
  )
  const problems = entriesOf(OAUTH_PROBLEMS).map(
    ([name, { status, what }]) => `| \`${name}\` | ${status} | ${what} | ${AFTER_OAUTH_PROBLEMS[name]} |`,
  )
  return `# Codes

Stable: tools may branch on them. The texts beside them are for people and may change.

## Outcomes of scripts

In the solution's log; the end user sees the login page's error label with a reference.

${table(FAILURES, (code) => AFTER_FAILURES[code])}

## Sign-ins by a provider

In the solution's log (\`oauth_script\` in the audit alone: the log has the script's own failure), in the audit, and as \`error\` in the
address of \`login_failed_url\`, to which \`oauth_expired\` never leads. The status is that of the page ([oauth.md](../oauth.md)).

| code | status | what it means | what to do next |
|---|---|---|---|
${problems.join('\n')}

## Errors of the host

As \`code\` of an \`application/problem+json\`; \`detail\` says what is wrong in this case.

| code | status | who can put it right | what to do next |
|---|---|---|---|
${errors.join('\n')}

## Faults of a bundle

In \`faults\` of a refused upload (422, or 413 where only sizes are at fault).

${table(FAULT_CODES, adviceFor)}

## Warnings of a bundle

In \`warnings\` of an upload.

${table(WARNING_CODES, adviceFor)}
`
}

function table<Code extends string>(
  codes: Readonly<Record<Code, string>>,
  next: (code: Code) => string | null,
): string {
  const rows = entriesOf(codes).map(([name, text]) => `| \`${name}\` | ${text} | ${next(name) ?? ''} |`)
  return `| code | what it means | what to do next |\n|---|---|---|\n${rows.join('\n')}`
}

function entriesOf<Name extends string, Value>(record: Readonly<Record<Name, Value>>): [Name, Value][] {
  return Object.entries(record) as [Name, Value][]
}

function packageVersion(): string {
  const { version } = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8')) as {
    version: string
  }
  return version
}

function code(text: string): string {
  return text === '' ? 'none' : `\`${text}\``
}

function capital(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1)
}
