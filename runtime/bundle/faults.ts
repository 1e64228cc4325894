/** A reason why a bundle is refused, with its place. Lines and columns count from 1. */
export type Fault = {
  readonly file: string
  readonly line?: number
  readonly column?: number
  readonly code: FaultCode
  readonly message: string
}

/** Something the author should look at; the bundle is accepted all the same. */
export type Warning = {
  readonly file: string
  readonly line?: number
  readonly column?: number
  readonly code: WarningCode
  readonly message: string
}

/** Every stable code of a fault, with the rule it stands for (design section 4). */
export const FAULT_CODES = {
  zip_invalid: 'the file is not a zip, or its directory is damaged',
  zip_entry_kind: 'an entry is a link, a device or another thing that is not a regular file',
  zip_entry_method: 'an entry is encrypted or compressed by another method than stored and deflated',
  zip_headers_differ: 'the local header says something else than the central directory',
  zip_content: 'the content does not match its size or CRC-32, or overlaps another entry',
  name_invalid: 'a file name has a segment other than [A-Za-z0-9._-], or is too long',
  name_duplicate: 'two files have the same name when case is ignored',
  too_many_files: 'the bundle holds more files than the limit',
  too_large: 'a file or the whole bundle is larger than the limit',
  manifest_missing: 'solution.json is missing',
  manifest_in_folder: 'solution.json lies one folder down',
  json_invalid: 'a JSON file cannot be parsed strictly',
  manifest_invalid: 'a property of the manifest has a wrong value',
  manifest_unknown_key: 'the manifest has a property that does not exist',
  module_missing: 'a module that a manifest names is not in modules/',
  module_invalid: 'a module is of a wrong type, or its name differs from its folder',
  authenticator_count: 'the mode needs exactly one module of type authenticator',
  form_missing: 'a form that the manifest names is none that clients have',
  form_invalid: 'a property of a form has a wrong value, or a form is too large',
  form_unknown_key: 'a form has a property that does not exist',
  form_name_twice: 'two elements or tabs of one form have the same name',
  form_function_missing: 'a handler names a function that the form’s script does not declare',
  i18n_invalid: 'an i18n table is not an object of texts, or its file name is no locale',
  script_syntax: 'a script cannot be compiled',
  script_load: 'a script failed while its top-level code ran',
  script_timeout: 'the top-level code of the scripts ran longer than the limit',
  script_memory: 'loading the scripts needed more memory than the limit',
  script_crashed: 'loading the scripts ended the sandbox process',
  entry_missing: 'the entry function onSolutionOpen is missing',
  name_twice:
    'two files of one folder declare the same top-level name; for scopes: a script uses the name without its scope',
  text_invalid: 'a script or the login template is not UTF-8 text',
  more_faults: 'further faults, which are not listed',
} as const

export type FaultCode = keyof typeof FAULT_CODES

/** Every stable code of a warning. */
export const WARNING_CODES = {
  file_unused: 'the layout of a solution does not name this file; it is kept unused',
  form_script_unused: 'a form script has no form of the same name',
  form_image_missing: 'an image of a form is not in media/',
  form_text_missing: 'a form names an i18n key that is in no table',
  form_permission_unlisted: 'a form asks for a permission that no manifest lists, so nobody can have it',
  form_function_hidden: 'a function of a form’s script has a name that every form has itself',
  name_replaced: 'a script uses a name of the original product that does not exist here',
  manifest_deprecated: 'an older property that authenticator replaces',
  oauth_missing: 'the mode OAUTH without OAuth settings; nobody can sign in before the operator sets them',
  oauth_secret_written: 'the application’s secret stands in the manifest, where everybody who has the bundle reads it',
  template_replaced: 'login.html lacks something it cannot work without; the default page is shown in its place',
  template_element_missing: 'login.html lacks an element that the guide asks for',
  template_inline_handler: 'an inline event handler, which the Content-Security-Policy blocks',
  template_inline_style: 'a style attribute, which the Content-Security-Policy blocks',
  template_blocked_address: 'an address that the Content-Security-Policy blocks',
  template_placeholder: 'a placeholder in a place where no value can be put safely; it stays empty',
  more_warnings: 'further warnings, which are not listed',
} as const

export type WarningCode = keyof typeof WARNING_CODES
