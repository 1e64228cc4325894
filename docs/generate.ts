// Writes the generated parts of the docs. With --check, only reports whether they are up to date.
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
    const secret = one.secret ? ` To read it from a file, set \`${name}_FILE\` to the path.` : ''
    return `| \`${name}\` | ${code(one.default)} | ${capital(one.what)}. ${capital(one.form)}.${secret} |`
  })
  return rows.join('\n')
}

function centerSettingsPage(): string {
  return `# Control center settings

Settings are environment variables. If a value is invalid or a name is misspelled, the control center doesn't start and prints one line per error. For how to use
them, see [control-center.md](../control-center.md#settings).

| variable | default | meaning and allowed values |
|---|---|---|
${propertyRows(CENTER_PROPERTIES)}

The control center also uses these [limits](settings.md#limits), with the same names and defaults: \`BUNDLE_*\`, \`PASSWORD_LENGTH\`, \`SESSION_*\`,
\`THROTTLE_*\`, \`AUDIT_KEPT\` and \`TELEMETRY_QUEUE\`.
`
}

/** Generates the page that lists all routes, from the declarations next to their handlers. */
function adminApiPage(): string {
  const rows = declaredRoutes().map(({ method, path, definition: { summary, right } }) => {
    const need =
      right === 'account'
        ? 'the admin account'
        : right === null
          ? 'the admin account or the scope `admin`'
          : right === 'any'
            ? 'any token'
            : `\`${right}\``
    return `| ${method} \`${path.slice(1).replaceAll(/:(\w+)/g, '{$1}')}\` | ${summary.replaceAll('|', '\\|')} | ${need} |`
  })
  return `# Admin API

Every path starts with \`/admin/api/\`. The admin account uses Basic authentication and can do everything. Tools use an API token (Bearer) with scopes.
The scope \`admin\` includes all others except \`solutions:{name}:call\`. It doesn't allow requests that remove or unlock users' second factors: a token needs \`users:write\`
for these. Errors are [problem details](codes.md) (RFC 9457). [openapi.json](openapi.json) describes all requests and responses; each host serves its own copy at
\`/admin/api/openapi.json\`.

| request | description | required access |
|---|---|---|
${rows.join('\n')}
`
}

function settingsPage(): string {
  const limits = Object.entries(LIMITS).map(
    ([name, { default: text, what }]) => `| \`${name}\` | ${code(text)} | ${what} |`,
  )
  return `# Settings

Settings are environment variables. If a value is invalid or a name is misspelled, the host doesn't start and prints one line per error.

| variable | default | meaning and allowed values |
|---|---|---|
${propertyRows(PROPERTIES)}

## Limits

Limits are environment variables too. Times have a unit \`ms|s|m|h|d\`, sizes a unit \`k|m|g\` (1024).

| variable | default | description |
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

These codes are stable, so tools can rely on them. The texts next to them are for people and may change.

## Outcomes of scripts

These appear in the solution's log. End users see the login page's error label with a reference.

${table(FAILURES, (code) => AFTER_FAILURES[code])}

## Sign-ins with a provider

These appear in the solution's log, in the audit log, and as the \`error\` query parameter of \`login_failed_url\`. There are two exceptions: \`oauth_script\`
is only in the audit log, because the solution's log contains the script's own error, and \`oauth_expired\` never redirects. The status is the HTTP status of
the page that the user sees ([oauth.md](../oauth.md)).

| code | status | what it means | what to do next |
|---|---|---|---|
${problems.join('\n')}

## Errors of the host

These are the \`code\` in an \`application/problem+json\` response; \`detail\` describes the specific problem.

| code | status | who can fix it | what to do next |
|---|---|---|---|
${errors.join('\n')}

## Errors in a bundle

These are in \`faults\` of a rejected upload (422, or 413 if only sizes are wrong).

${table(FAULT_CODES, adviceFor)}

## Warnings about a bundle

These are in \`warnings\` of an upload.

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
