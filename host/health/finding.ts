/** A notice for the operator on the health page. Its text has a key below `admin.health.finding`. */
export type Finding = { readonly key: string; readonly values: readonly (string | number)[]; readonly href?: string }
