import type { FaultCode, WarningCode } from '../../runtime/bundle/faults.ts'

/** How to fix each error or warning, by code. The messages state the problem. */
const ADVICE = {
  zip_invalid: 'Pack the folder with "solhost pack".',
  zip_entry_kind: 'Remove symbolic links and device files: "solhost pack" packs only regular files.',
  zip_entry_method: 'Pack the folder with "solhost pack".',
  zip_headers_differ: 'Pack the folder with "solhost pack".',
  zip_content: 'Pack the folder again with "solhost pack".',
  name_invalid: 'Rename the file. Use only letters without accents, digits, ".", "_" and "-".',
  name_duplicate: 'Delete or rename one of the two files.',
  too_many_files: 'Remove files that the solution does not need, or ask the operator to raise BUNDLE_FILES.',
  too_large: 'Make the files smaller, or ask the operator to raise the limit (docs/limits.md).',
  manifest_missing: 'Add a solution.json with at least {"name": "…", "version": "1.0.0"}.',
  manifest_in_folder: 'Pack the contents of the folder, not the folder itself.',
  json_invalid: 'Fix the JSON. Look for an extra or missing comma or quote, or for a comment.',
  manifest_invalid: 'Use an allowed value. If the file has "$schema", your editor lists the allowed values.',
  manifest_unknown_key: 'Fix the name of the property, or remove it.',
  module_missing: 'Add the folder to modules/, or remove the name from "modules".',
  module_invalid: 'In the module’s own solution.json, fix the error that the message describes.',
  authenticator_count: 'List exactly one module whose solution.json has "type": "authenticator".',
  passkeys_unavailable:
    'Use "required" instead, or ask the operator to enable passkeys. Passkeys need https, a host name, and SOLUTION_ORIGIN or PASSKEYS=on.',
  form_missing: 'Add the form, or use the name of a form in forms/.',
  form_invalid: 'Use an allowed value. If the file has "$schema", your editor lists the allowed values.',
  form_unknown_key: 'Fix the name of the property, or remove it.',
  form_name_twice: 'Rename one of the two elements or tabs.',
  form_function_missing:
    'Declare the function at the top level of the form’s script, or use the name of an existing function.',
  i18n_invalid:
    'Name the file default.json, or after a locale, such as nl.json. All its values must be strings: {"key": "text"}.',
  realm_difference: 'Change the script as the message describes, or remove "realm" from solution.json.',
  script_syntax: 'Fix the script here, or just before this position.',
  script_load:
    'Fix this line: it runs when the scripts are loaded. If it needs a request, a session or a form, move the code into a function.',
  script_timeout: 'Fix the endless loop, or move slow code into a function: the scripts must load within one second.',
  script_memory: 'Store less data in top-level variables.',
  script_crashed: 'Move top-level code into functions until you find the line that crashes the process.',
  entry_missing: 'Declare the function at the top level of globals.js.',
  name_twice: 'Rename one of the two declarations, or use scopes.<file>.<name> if two scopes declare the name.',
  text_invalid: 'Save the file as UTF-8.',
  more_faults: 'Fix the errors above first.',
  file_unused: 'Move the file to one of the folders that a solution can have (docs/solutions.md), or remove it.',
  form_script_unused: 'Give the script the same name as its form, or remove the script.',
  form_image_missing: 'Add the image to media/, or fix its path.',
  form_text_missing: 'Add the key to i18n/default.json.',
  form_permission_unlisted: 'Add the permission to "permissions" in solution.json, or fix its name.',
  endpoint_permission_unlisted: 'Add the permission to "permissions" in solution.json, or fix its name.',
  form_function_hidden: 'Rename the function: the form has a built-in property or function with that name.',
  i18n_key_missing: 'Add the keys and their translations to the file.',
  i18n_placeholder: 'Use the same placeholders as in default.json.',
  manifest_deprecated: 'Use "authenticator" instead.',
  name_replaced: 'Use the replacement that the message names; see docs/migrating.md.',
  endpoint_twice: 'Remove one of the two endpoints.',
  function_missing: 'Correct the name, or declare the function at the top level of globals.js or of a file in scopes/.',
  embedded_per_host: 'Use a database server, or run only one host.',
  oauth_missing: 'Add "oauth" to solution.json, or ask the operator to configure OAuth for the solution.',
  oauth_secret_written: 'Replace the secret with "%%NAME%%", and ask the operator to set the secret NAME.',
  template_replaced: 'Add the missing part; "solhost login-template" writes a complete page.',
  template_element_missing: 'Add or change the element that the message names.',
  template_text_missing: 'Add the key to i18n/default.json.',
  template_inline_handler: 'Use addEventListener in a <script> on the page.',
  template_inline_style: 'Move the style into a <style> element on the page.',
  template_blocked_address: 'Put the file in media/ and use its relative URL, media/….',
  template_placeholder: 'Move the placeholder into text, an attribute, or a string in a script.',
  more_warnings: 'Fix the warnings above first.',
} as const satisfies Record<FaultCode | WarningCode, string>

/** @returns null for an unknown code, for example from a newer host */
export function adviceFor(code: string): string | null {
  return Object.hasOwn(ADVICE, code) ? ADVICE[code as keyof typeof ADVICE] : null
}
