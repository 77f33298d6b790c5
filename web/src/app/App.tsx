import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { RouterProvider } from "@tanstack/react-router";
import { asProblem } from "@/api/problem";
import { Toasts } from "@/parts/Toast";
import { router } from "./router";

const client = new QueryClient({
  defaultOptions: {
    queries: {
      // Events keep visible data current, so focusing the window refetches nothing.
      staleTime: 30_000,
      refetchOnWindowFocus: false,
      retry: (count, error) => asProblem(error).isPassing && count < 4,
    },
  },
});

export function App() {
  return (
    <QueryClientProvider client={client}>
      <RouterProvider router={router} />
      <Toasts />
    </QueryClientProvider>
  );
}
