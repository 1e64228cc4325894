/** A reason to reject a bundle, with its position. Lines and columns count from 1. */
export type Fault = {
  readonly file: string
  readonly line?: number
  readonly column?: number
  readonly code: FaultCode
  readonly message: string
}

/** Something that the author should check; the bundle is still accepted. */
export type Warning = {
  readonly file: string
  readonly line?: number
  readonly column?: number
  readonly code: WarningCode
  readonly message: string
}

/** Every stable error code, with the rule behind it. */
export const FAULT_CODES = {
  zip_invalid: 'the file is not a ZIP file, or its central directory is damaged',
  zip_entry_kind: 'an entry is not a regular file (for example, it is a link or a device)',
  zip_entry_method: 'an entry is encrypted, or uses a compression method other than stored and deflated',
  zip_headers_differ: 'a local header differs from the central directory',
  zip_content: 'the content does not match its size or CRC-32, or overlaps another entry',
  name_invalid: 'a file name has characters other than [A-Za-z0-9._-] in a segment, or is too long',
  name_duplicate: 'two files have the same name when case is ignored',
  too_many_files: 'the bundle has more files than the limit',
  too_large: 'a file or the whole bundle is larger than the limit',
  manifest_missing: 'solution.json is missing',
  manifest_in_folder: 'solution.json is in a subfolder; it must be at the top level of the bundle',
  json_invalid: 'a JSON file is not valid strict JSON',
  manifest_invalid: 'a property of the manifest has an invalid value',
  manifest_unknown_key: 'the manifest has an unknown property',
  module_missing: 'a module that a manifest lists is not in modules/',
  module_invalid:
    'a module has the wrong type or a property that only solutions can have, or its name differs from its folder',
  authenticator_count: 'the value of "authenticator" requires exactly one module of type authenticator',
  passkeys_unavailable: 'the manifest requires passkeys, which this host does not offer for the solution',
  endpoint_twice: 'two endpoints of a manifest match the same requests',
  function_missing: 'an endpoint or job names a function that the scripts do not declare at their top level',
  form_missing: 'the manifest names a form that is not available to clients',
  form_invalid: 'a property of a form has an invalid value, or a form is too large',
  form_unknown_key: 'a form has an unknown property',
  form_name_twice: 'two elements or tabs in one form have the same name',
  form_function_missing: 'a handler names a function that the form’s script does not declare',
  i18n_invalid:
    'an i18n table is not an object whose values are strings, or its file name is not a locale, or there are too many texts',
  realm_difference:
    'the manifest sets "realm" to "hardened", but this part of a script works differently in that realm',
  script_syntax: 'a script cannot be compiled',
  script_load: 'a script failed while its top-level code ran',
  script_timeout: 'the top-level code of the scripts ran longer than the limit',
  script_memory: 'loading the scripts exceeded the memory limit',
  script_crashed: 'loading the scripts crashed the sandbox process',
  entry_missing: 'the entry function onSolutionOpen is missing',
  name_twice:
    'two files in one folder declare the same top-level name, or a script uses a name that two scopes declare',
  text_invalid: 'a script or the login template is not UTF-8 text',
  more_faults: 'there are more errors, which are not listed',
} as const

export type FaultCode = keyof typeof FAULT_CODES

/** Every stable warning code. */
export const WARNING_CODES = {
  file_unused: 'Solhost does not read files at this path; the file is stored but ignored',
  form_script_unused: 'a form script has no form with the same name',
  form_image_missing: 'an image in a form is not in media/',
  form_text_missing: 'a form uses an i18n key that is not in default.json',
  form_permission_unlisted: 'a form requires a permission that no manifest lists, so nobody can have it',
  endpoint_permission_unlisted: 'an endpoint requires a permission that no manifest lists, so no user can have it',
  form_function_hidden:
    'a function in a form’s script has the same name as a built-in property or function of the form',
  i18n_key_missing:
    'a translation file doesn’t contain all keys of default.json, so users see the default texts for the missing keys',
  i18n_placeholder: 'a translation contains a placeholder that the text in default.json does not contain',
  name_replaced:
    'a script uses an API of the original product, of browsers or of Node.js that Solhost does not support',
  manifest_deprecated: 'the manifest has a deprecated property, which "authenticator" replaces',
  embedded_per_host: 'a solution with endpoints or jobs uses an embedded database, and each host has a separate one',
  oauth_missing:
    '"authenticator" is OAUTH, but there are no OAuth settings; nobody can sign in until the operator sets them',
  oauth_secret_written: 'the application’s secret is in the manifest, where anyone who has the bundle can read it',
  template_replaced: 'login.html lacks a required part; users see the default page instead',
  template_element_missing:
    'an element that docs/login-template.md lists is missing from login.html or has the wrong type',
  template_text_missing: 'login.html uses an i18n key that is not in default.json',
  template_inline_handler: 'login.html has an inline event handler, which the Content-Security-Policy blocks',
  template_inline_style: 'login.html has a style attribute, which the Content-Security-Policy blocks',
  template_blocked_address: 'login.html has a URL that the Content-Security-Policy blocks',
  template_placeholder: 'login.html has a placeholder where no value can be inserted safely; it stays empty',
  more_warnings: 'there are more warnings, which are not listed',
} as const

export type WarningCode = keyof typeof WARNING_CODES
