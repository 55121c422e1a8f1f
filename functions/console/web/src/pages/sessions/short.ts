// short shows a scoped session id by its first digits.
export function short(id: string): string {
  return id.startsWith('scoped-') ? id.slice(7, 19) : id.slice(0, 12)
}
