/** The logo: converging learning curves. */
export function Mark({ size = 26 }: { size?: number }) {
  return <img src="/favicon.svg" width={size} height={size} alt="" />;
}
